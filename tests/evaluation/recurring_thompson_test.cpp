// thompson.lua on made-up jobs that recur: a table with gaps, runs that fail, and clocks beside the
// power limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/recurring_report.h"
#include "evaluation/statistics.h"
#include "policies/lua/lua_policy.h"
#include "tests/policies/script_text.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

constexpr std::array<std::int32_t, 6> kBatches = {32, 64, 128, 256, 512, 1024};
constexpr std::array<int, 7> kLimitsW = {100, 125, 150, 175, 200, 225, 250};

struct Epoch {
  double s = 0;
  double power_w = 0;
};

// Of a GPU that draws 240 W at its highest clock if the limit lets it, and trains faster with large
// batches.
Epoch epoch(std::int32_t batch, int limit_w, double wanted_w = 240) {
  const double share = std::min(1.0, (limit_w - 50) / (wanted_w - 50));
  return {(20 + 1000.0 / batch) / std::pow(share, 0.5), std::min(wanted_w, 1.0 * limit_w)};
}

// 128 reaches the target at the least cost, and the job is used to 1024.
std::uint32_t epochs_of(std::int32_t batch, std::size_t run) {
  const double mean = 30 * std::max(1.0, std::pow(batch / 128.0, 0.9));
  return static_cast<std::uint32_t>(mean) + static_cast<std::uint32_t>(run % 3);
}

class RecurringThompson : public testing::Test {
 protected:
  void add(std::int32_t batch, int limit_w, const Epoch& epoch, const std::string& clock_mhz = "") {
    rows_ += "gpu,d-n-o,train," + std::to_string(batch) + "," + clock_mhz + "," +
             std::to_string(limit_w) + "," + std::to_string(epoch.s) + "," +
             std::to_string(epoch.power_w) + "\n";
  }

  void add_all(const std::function<bool(std::int32_t, int)>& has) {
    for (const std::int32_t batch : kBatches) {
      for (const int limit_w : kLimitsW) {
        if (has(batch, limit_w)) add(batch, limit_w, epoch(batch, limit_w), clock_mhz_);
      }
    }
  }

  // Median of so many seeds of what the last settings cost over the best one.
  double last(const std::function<bool(std::int32_t, std::size_t)>& reaches,
              std::uint64_t seeds = 10) {
    const Profile profile = parse_profiles(
        "device,workload,kind,batch_size,gpu_mhz,power_limit_w,epoch_s,power_w\n" + rows_,
        "gpu.csv")[0];
    std::vector<EpochsToTarget> epochs;
    for (const std::int32_t batch : kBatches) {
      EpochsToTarget row{"d", "n", "o", batch, 0.5, {}};
      for (std::size_t run = 0; run < 10; ++run) {
        row.epochs.push_back(reaches(batch, run) ? std::optional(epochs_of(batch, run))
                                                 : std::nullopt);
      }
      epochs.push_back(row);
    }
    const RecurringJob job = make_recurring_job(profile, epochs, {"d-n-o", 0.5, 1024, 500}, 0.5);
    std::vector<double> ratios;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      LuaPolicy policy("thompson.lua", script_text("thompson.lua"));
      const RecurringRow row{"thompson", &job, seed, play(job, policy, {.seed = seed})};
      if (!row.trial.failure.empty()) {
        ADD_FAILURE() << seed << ": " << row.trial.failure;
        return INFINITY;
      }
      ratios.push_back(last_ratio(row));
    }
    return distribution(ratios).median;
  }

  std::string rows_;
  std::string clock_mhz_;
};

bool always(std::int32_t, std::size_t) { return true; }

TEST_F(RecurringThompson, AClockThatNeverChangesIsNoReasonToDoElse) {
  clock_mhz_ = "1530";
  add_all([](std::int32_t, int) { return true; });
  EXPECT_LE(last(always), 1.01);
}

// At the highest clock limits of 150 W and less cost much more than the best; at a lower one the
// best of all draws no more than that.
TEST_F(RecurringThompson, ALimitThatIsDearAtOneClockIsNoReasonToSkipAnother) {
  for (const std::int32_t batch : kBatches) {
    for (const int limit_w : kLimitsW) {
      add(batch, limit_w, epoch(batch, limit_w), "1530");
      const Epoch slow = epoch(batch, limit_w, 150);
      add(batch, limit_w, {1.1 * slow.s, slow.power_w}, "1200");
    }
  }
  EXPECT_LE(last(always), 1.01);
}

// Too many to be measured an epoch each: some of them are.
TEST_F(RecurringThompson, OfAPowerLimitThatIsSetByTheWattSomeValuesAreTried) {
  for (const std::int32_t batch : kBatches) {
    for (int limit_w = 100; limit_w <= 250; ++limit_w) add(batch, limit_w, epoch(batch, limit_w));
  }
  EXPECT_LE(last(always, 3), 1.01);
}

TEST_F(RecurringThompson, OfClocksTimesLimitsSomeModesAreTried) {
  for (const std::int32_t batch : kBatches) {
    for (int limit_w = 100; limit_w <= 250; limit_w += 10) {
      for (int clock_mhz = 900; clock_mhz <= 1530; clock_mhz += 30) {
        const Epoch slow = epoch(batch, limit_w, 240.0 * clock_mhz / 1530);
        add(batch, limit_w, {1530.0 / clock_mhz * slow.s, slow.power_w}, std::to_string(clock_mhz));
      }
    }
  }
  EXPECT_LE(last(always, 1), 1.01);
}

// Nothing is known of 256 at the highest limit, nor of 512 at the next one.
TEST_F(RecurringThompson, AGapInTheTableShutsNoSideOfTheBatchSizes) {
  add_all([](std::int32_t batch, int limit_w) {
    return !(batch == 256 && limit_w == 250) && !(batch == 512 && limit_w == 225);
  });
  EXPECT_LE(last(always), 1.01);
}

// Half the runs of 64 fail, at whatever they cost until then: the others are cheap.
TEST_F(RecurringThompson, RunsThatFailCountAfterOneThatDidNot) {
  add_all([](std::int32_t, int) { return true; });
  const auto fails = [](std::int32_t batch, std::size_t run) {
    return batch > 256 || run % 2 == 0 || batch < 100;
  };
  EXPECT_LE(last(fails), 1.05);
}

}  // namespace
}  // namespace gearshift

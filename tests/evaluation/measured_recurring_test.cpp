// thompson.lua on tables measured on a server GPU, where they are at hand: what recurring jobs cost
// under it, beside the best fixed setting.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "evaluation/recurring_report.h"
#include "evaluation/statistics.h"
#include "policies/lua/lua_policy.h"
#include "tests/fakes/measured_data.h"
#include "tests/policies/script_text.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

struct Expected {
  const char* workload;
  double most_ratio;  // median of ten seeds
};
// Published for the same tables: 1.073, 1.057, 1.080 and 1.024.
constexpr Expected kExpected[] = {
    {"cifar100-shufflenetv2-adadelta", 1.05},
    {"imagenet-resnet50-adadelta", 1.04},
    {"movielens-1m-ncf-adam", 1.06},
    {"sentiment140-bert_base_uncased-adamw", 1.02},
};

TEST(MeasuredRecurring, ThompsonStaysNearTheBestFixedSetting) {
  const std::filesystem::path data = measured_folder();
  if (!std::filesystem::exists(data / "gpu_v100.csv")) GTEST_SKIP() << no_measured_data();
  const std::string script = script_text("thompson.lua");
  const auto epochs = read_epochs(data / "gpu_epochs_to_target.csv");
  const auto profiles = read_profiles(data / "gpu_v100.csv");
  for (const Expected& expected : kExpected) {
    for (const Profile& profile : profiles) {
      if (profile.workload != expected.workload) continue;
      const auto terms = usual_terms(profile.workload, epochs, profile.batch_sizes());
      ASSERT_TRUE(terms);
      const RecurringJob job = make_recurring_job(profile, epochs, *terms, 0.5);
      std::vector<double> ratios;
      std::vector<double> last;
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        LuaPolicy policy("thompson.lua", script);
        const RecurringRow row{"thompson", &job, seed, play(job, policy, {.seed = seed})};
        ratios.push_back(cost_ratio(row));
        last.push_back(last_ratio(row));
      }
      EXPECT_LE(distribution(ratios).median, expected.most_ratio) << profile.workload;
      EXPECT_LE(distribution(last).median, 1.005) << profile.workload;
    }
  }
}

}  // namespace
}  // namespace gearshift

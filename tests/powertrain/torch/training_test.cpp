// Needs the module with libtorch: skips, and says so, where it was not built.
#include "policies/powertrain/training.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "boards/modelled_profile.h"
#include "policies/powertrain/predictor_file.h"
#include "policies/powertrain/reference.h"
#include "policies/powertrain/reference_transfer.h"
#include "tests/fakes/measured_data.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

class Training : public testing::Test {
 protected:
  void SetUp() override {
    try {
      module_.emplace();
    } catch (const NetworkError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  const NetworkModule& module() const { return *module_; }

 private:
  std::optional<NetworkModule> module_;
};

// Made up: all of its time goes with the GPU clock, its power with clock and cores.
Profile made_up(double work, const std::vector<std::int32_t>& batch_sizes = {16}) {
  KnobSpace space;
  space.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8, 12}},
                 {"gpu_mhz", Unit::khz, KnobClass::clock, {}}};
  for (std::int64_t gpu_khz = 300'000; gpu_khz <= 1'300'000; gpu_khz += 50'000) {
    space.knobs[1].values.push_back(gpu_khz);
  }
  Profile profile(space);
  profile.device = "jetson-agx-orin";
  profile.workload = "made-up";
  for (const std::int64_t cores : space.knobs[0].values) {
    for (const std::int64_t gpu_khz : space.knobs[1].values) {
      for (const std::int32_t size : batch_sizes) {
        ProfileCell cell;
        cell.mode.count = 2;
        cell.mode.values = {cores, gpu_khz};
        cell.batch_size = size;
        const double gpu_ghz = static_cast<double>(gpu_khz) / 1e6;
        cell.minibatch_ms = work * (0.5 + size / 32.0) / gpu_ghz;
        cell.power_w = 10 + static_cast<double>(cores) + 20 * gpu_ghz * gpu_ghz;
        profile.add(cell);
      }
    }
  }
  return profile;
}

std::vector<std::size_t> all_of(const Profile& profile) { return timed_cells(profile); }

TEST_F(Training, LearnsAProfileAndTakesItOverToAnother) {
  const Profile profile = made_up(50);
  TrainingOptions options;
  options.batch_rows = 8;
  const Predictor reference = train_predictor(module(), profile, all_of(profile), options);
  EXPECT_LT(reference.time.mape_percent, 10);
  EXPECT_LT(reference.power.mape_percent, 5);
  EXPECT_EQ(reference.inputs.size(), 2U);  // one batch size is no input

  const Profile target = made_up(400);
  const auto drawn = draw_cells(all_of(target), 12, 1);
  const Predictor transferred = transfer_predictor(module(), reference, target, drawn, options);
  const Predictor afresh = train_predictor(module(), target, drawn, options);
  const PredictionError error = prediction_error(module(), transferred, target, all_of(target));
  const PredictionError other = prediction_error(module(), afresh, target, all_of(target));
  EXPECT_LT(error.time_percent, 12);
  EXPECT_LT(error.time_percent, other.time_percent);
  EXPECT_EQ(transferred.reference, "jetson-agx-orin made-up");
}

TEST_F(Training, LearnsFromAllOfFewSettings) {
  const Predictor reference = train_predictor(module(), made_up(50), all_of(made_up(50)), {});
  const Profile target = made_up(400);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto drawn = draw_cells(all_of(target), 8, seed);
    const Predictor transferred = transfer_predictor(module(), reference, target, drawn, {});
    // One that it did not learn from would stand out.
    for (const std::size_t cell : drawn) {
      const std::vector<std::size_t> one = {cell};
      EXPECT_LT(prediction_error(module(), transferred, target, one).time_percent, 20) << seed;
    }
  }
}

TEST_F(Training, WarmsUpWithoutAWord) {
  int loaded = 0;
  const ReferenceTransfer transfer([&] {
    ++loaded;
    return shipped_reference();
  });
  transfer.warm_up();
  transfer.warm_up();
  EXPECT_EQ(loaded, 1);
  const ReferenceTransfer broken([]() -> Predictor { throw TrainingError("no reference"); });
  broken.warm_up();
  const Profile profile = made_up(50);
  EXPECT_THROW(broken.transfer(profile, {}), TrainingError);  // which tells why
}

TEST_F(Training, IsAFunctionOfItsSeed) {
  const Profile profile = made_up(50);
  TrainingOptions options;
  options.epochs = 3;
  const auto bytes = [&] {
    return format_predictor(train_predictor(module(), profile, all_of(profile), options));
  };
  const std::string first = bytes();
  EXPECT_EQ(bytes(), first);
  options.seed = 2;
  EXPECT_NE(bytes(), first);
}

TEST_F(Training, TakesBatchSizesWhereTheyVary) {
  const Profile profile = made_up(50, {1, 16, 64});
  TrainingOptions options;
  options.epochs = 2;
  const Predictor predictor = train_predictor(module(), profile, all_of(profile), options);
  ASSERT_EQ(predictor.inputs.size(), 3U);
  EXPECT_EQ(predictor.inputs[2].name, kBatchSizeInput);
  const Profile one = made_up(50);
  const Predictor narrow = train_predictor(module(), one, all_of(one), options);
  EXPECT_THROW(transfer_predictor(module(), narrow, profile, all_of(profile), options),
               TrainingError);
}

// Also those that the reference of its reference learnt from.
TEST_F(Training, KeepsTheBatchSizesOfItsReference) {
  TrainingOptions options;
  options.epochs = 1;
  const Profile several = made_up(50, {8, 32});
  const Profile one = made_up(50, {16});
  const Predictor first = train_predictor(module(), several, all_of(several), options);
  EXPECT_TRUE(first.reference_batch_sizes.empty());
  const Predictor second = transfer_predictor(module(), first, one, all_of(one), options);
  EXPECT_EQ(second.batch_sizes, (std::vector<std::int32_t>{16}));
  EXPECT_EQ(second.reference_batch_sizes, (std::vector<std::int32_t>{8, 32}));
  const Predictor third = transfer_predictor(module(), second, one, all_of(one), options);
  EXPECT_EQ(third.reference_batch_sizes, (std::vector<std::int32_t>{8, 16, 32}));
}

TEST_F(Training, RefusesTooFewSettingsAndAKnobThatIsNotTold) {
  const Profile profile = made_up(50);
  TrainingOptions options;
  options.epochs = 1;
  const std::vector<std::size_t> two = {0, 1};
  EXPECT_THROW(train_predictor(module(), profile, two, options), TrainingError);
  const Predictor predictor = train_predictor(module(), profile, all_of(profile), options);
  KnobSpace without;
  without.knobs = {profile.knobs().knobs[0]};
  const std::vector<PredictedSetting> settings = {{without.lowest(), 16}};
  EXPECT_THROW(predict(module(), predictor, without, settings), TrainingError);
}

TEST_F(Training, TellsEveryEpoch) {
  const Profile profile = made_up(50);
  TrainingOptions options;
  options.epochs = 4;
  std::string told;
  options.progress = [&](const TrainingProgress& progress) {
    told += std::string(progress.target) + std::to_string(progress.epoch) + "/" +
            std::to_string(progress.epochs) + " ";
    EXPECT_TRUE(std::isfinite(progress.validation_loss));
  };
  train_predictor(module(), profile, all_of(profile), options);
  EXPECT_EQ(told, "time1/4 time2/4 time3/4 time4/4 power1/4 power2/4 power3/4 power4/4 ");
}

TEST_F(Training, LeavesTheFloatingPointModeAsItWas) {
  const Profile profile = made_up(50);
  TrainingOptions options;
  options.epochs = 1;
  train_predictor(module(), profile, all_of(profile), options);
  volatile double least = std::numeric_limits<double>::min();
  EXPECT_GT(least / 2, 0);  // denormal numbers are flushed in there alone
}

TEST_F(Training, ComesBelowThePublishedErrorOnAMeasuredProfile) {
  const std::filesystem::path folder = measured_folder();
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << no_measured_data();
  const Profile reference = read_profiles(folder / "agx_orin_resnet_train.csv").front();
  const Profile target = read_profiles(folder / "agx_orin_lstm_train.csv").front();
  TrainingOptions options;
  options.batch_rows = 64;
  options.epochs = 30;  // a third of the paper's, for the sake of time
  const auto some = draw_cells(all_of(reference), 1500, 1);
  const Predictor trained = train_predictor(module(), reference, some, options);
  options.epochs = 100;
  options.batch_rows = 32;
  const auto drawn = draw_cells(all_of(target), 50, 1);
  const Predictor transferred = transfer_predictor(module(), trained, target, drawn, options);
  const PredictionError error = prediction_error(module(), transferred, target, all_of(target));
  EXPECT_LT(error.time_percent, 12.5);
  EXPECT_LT(error.power_percent, 6.3);
}

TEST_F(Training, TheShippedReferenceFitsTheBoardModelAsItIs) {
  const BoardDescription& board = *find_board("jetson-agx-orin-jetpack5", built_in_boards());
  const Predictor reference = shipped_reference();
  const Profile profile =
      modelled_profile(board, reference.knobs, reference.workload,
                       board.find_workload(reference.workload, Kind::train)->second, {{16}});
  ASSERT_EQ(profile.cells().size(), reference.settings);
  const PredictionError error = prediction_error(module(), reference, profile, all_of(profile));
  EXPECT_LT(error.time_percent, 4) << "make reference";
  EXPECT_LT(error.power_percent, 1.5) << "make reference";
}

}  // namespace
}  // namespace gearshift

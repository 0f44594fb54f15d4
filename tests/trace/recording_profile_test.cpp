#include "trace/recording_profile.h"

#include <gtest/gtest.h>

#include "tests/trace/recorded_run.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

TEST(RecordingProfile, HasARowASettingThatWasMeasured) {
  RecordedRun run;
  run.operator_limit = OperatorLimit(20000);
  run.schedule_limit = ScheduleLimit({});
  run.world.attach(seconds(2));
  run.run();
  RecordingReader reader(run.file);
  const RecordedProfiles recorded = read_recorded_profiles(reader);
  EXPECT_GE(recorded.incomplete, 1U) << "4 cores at 900 MHz are over the cap";
  EXPECT_EQ(recorded.concurrent, 0U);
  ASSERT_EQ(recorded.profiles.size(), 1U);
  const Profile& profile = recorded.profiles[0];
  EXPECT_EQ(profile.device, "fake");
  EXPECT_EQ(profile.workload, "resnet18");
  EXPECT_EQ(profile.kind, Kind::train);
  EXPECT_EQ(profile.batch_sizes(), std::vector<std::int32_t>{16});
  EXPECT_EQ(profile.knobs().knobs[0].values, (std::vector<std::int64_t>{2, 3}));
  const ProfileCell* cell = profile.find(mode(2, 600000), 16);
  ASSERT_NE(cell, nullptr);
  EXPECT_NEAR(cell->minibatch_ms, 40 * 1.5 * 1.5, 1e-6);
  EXPECT_NEAR(cell->power_w, 15.0, 1e-9);
  EXPECT_EQ(profile.find(mode(4, 900000), 16), nullptr);
}

}  // namespace
}  // namespace gearshift

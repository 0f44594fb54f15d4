#include "trace/recording_profile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/trace/recorded_run.h"
#include "tests/trace/written_recording.h"
#include "trace/unmanaged_workloads.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

Workload unmanaged(WorkloadHandle handle) {
  Workload workload = trainer(handle, "mobilenet_v3");
  workload.managed = false;
  return workload;
}

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

TEST(RecordingProfile, LeavesOutWhatWasMeasuredBeforeADrift) {
  Written run;
  run.attach(trainer(1, "lenet"));
  run.observe(mode(2, 600000));
  run.detach(1);
  run.attach(trainer(2));
  run.observe(mode(2, 600000));
  run.drift();
  run.observe(mode(4, 900000));
  const RecordedProfiles recorded = run.read();
  EXPECT_EQ(recorded.before_drift, 1U);
  ASSERT_EQ(recorded.profiles.size(), 2U);
  EXPECT_EQ(recorded.profiles[0].workload, "lenet");
  EXPECT_NE(recorded.profiles[0].find(mode(2, 600000), 16), nullptr) << "was not there then";
  ASSERT_EQ(recorded.profiles[1].cells().size(), 1U);
  EXPECT_NE(recorded.profiles[1].find(mode(4, 900000), 16), nullptr);
}

TEST(RecordingProfile, HasNoneWhereNothingWasMeasuredSinceADrift) {
  Written run;
  run.attach(trainer());
  run.observe(mode(2, 600000));
  run.drift();
  const RecordedProfiles recorded = run.read();
  EXPECT_TRUE(recorded.profiles.empty());
  EXPECT_EQ(recorded.before_drift, 1U);
}

// The loop measures what it holds again, and keeps the measurement that shows the change.
TEST(RecordingProfile, IsOfTheWorldAsItIsAtTheEnd) {
  RecordedRun run;
  run.schedule_limit = ScheduleLimit({});
  run.world.attach(seconds(2));
  run.world.at(seconds(30), [&run] { run.world.slower = 1.5; });
  run.run();
  ASSERT_EQ(run.kept.of(NoteType::drift).size(), 1U);
  RecordingReader reader(run.file);
  const RecordedProfiles recorded = read_recorded_profiles(reader);
  EXPECT_EQ(recorded.before_drift, 4U);
  ASSERT_EQ(recorded.profiles.size(), 1U);
  EXPECT_EQ(recorded.profiles[0].cells().size(), 4U);
  for (const ProfileCell& cell : recorded.profiles[0].cells()) {
    run.hardware.values = {cell.mode.values[0], cell.mode.values[1]};
    EXPECT_NEAR(cell.minibatch_ms, gearshift::seconds(run.world.minibatch()) * 1e3, 1e-3);
  }
}

TEST(RecordingProfile, LeavesOutWhatWasMeasuredBesideAWorkloadThatIsOnlyObserved) {
  Written run;
  run.attach(trainer(1));
  run.attach(unmanaged(2));
  run.observe(mode(2, 600000));
  run.detach(2);
  run.observe(mode(4, 900000));
  const RecordedProfiles recorded = run.read();
  EXPECT_EQ(recorded.concurrent, 1U);
  ASSERT_EQ(recorded.profiles.size(), 1U);
  ASSERT_EQ(recorded.profiles[0].cells().size(), 1U);
  EXPECT_NE(recorded.profiles[0].find(mode(4, 900000), 16), nullptr);
}

TEST(RecordingProfile, LeavesOutWhatAServerDrewInPausesToo) {
  Written run;
  run.attach(server(1));
  run.observe_served(mode(2, 600000));  // it reports no requests: one batch follows another
  run.report(1);
  run.observe_served(mode(3, 600000));
  run.detach(1);
  run.attach(trainer(2));
  run.observe(mode(4, 900000));
  const RecordedProfiles recorded = run.read();
  EXPECT_EQ(recorded.pausing, 1U);
  ASSERT_EQ(recorded.profiles.size(), 2U);
  ASSERT_EQ(recorded.profiles[0].cells().size(), 1U);
  EXPECT_NE(recorded.profiles[0].find(mode(2, 600000), 4), nullptr);
  EXPECT_EQ(recorded.profiles[1].kind, Kind::train) << "a trainer does not pause for requests";
  Written alone;
  alone.attach(server(1));
  alone.report(1);
  alone.observe_served(mode(3, 600000));
  EXPECT_EQ(
      why_no_profile(alone.read()),
      "1 measurements were of a server whose requests come one by one, and their power has "
      "the pauses between its batches in it: measure it while its batches follow one another");
}

TEST(RecordingProfile, SaysWhyThereIsNone) {
  const auto why = [](std::size_t before_drift, std::size_t concurrent, std::size_t incomplete) {
    RecordedProfiles recorded;
    recorded.before_drift = before_drift;
    recorded.concurrent = concurrent;
    recorded.incomplete = incomplete;
    return why_no_profile(recorded);
  };
  EXPECT_EQ(why(0, 0, 0), "no setting was measured to its end");
  EXPECT_EQ(why(0, 0, 2),
            "no setting was measured to its end; 2 measurements were cut short or failed");
  EXPECT_EQ(why(4, 0, 0),
            "4 settings were measured before the workload or the board changed, and none alone "
            "and to its end since");
  EXPECT_EQ(why(0, 3, 0),
            "3 measurements were of two workloads at once, and their power is no one's own: "
            "measure each alone with gearshift profile");
  EXPECT_EQ(why(4, 3, 2),
            why(4, 0, 0) + "; " + why(0, 3, 0) + "; 2 measurements were cut short or failed");
}

TEST(RecordingProfile, SaysWhatItLeftOutAndWhatIsAnEstimate) {
  Written run;
  run.attach(trainer());
  run.observe(mode(2, 600000));
  EXPECT_TRUE(left_out_lines(run.read()).empty());
  Written drifted;
  drifted.attach(trainer());
  drifted.observe(mode(2, 600000));
  drifted.drift();
  drifted.observe(mode(3, 600000), true);
  drifted.observe(mode(4, 900000));
  RecordedProfiles recorded = drifted.read();
  recorded.incomplete = 5;
  recorded.concurrent = 6;
  recorded.pausing = 7;
  const std::vector<std::string> lines = {
      "left out: 5 measurements that were cut short or failed",
      "left out: 6 measurements of two workloads at once: their power is no one's own",
      "left out: 7 measurements of a server whose requests come one by one: their power has the "
      "pauses between its batches in it",
      "left out: 1 measurements from before the workload or the board changed, as the run found by "
      "itself",
      "the power of 1 of 2 settings is an estimate, wholly or in part, and not measured"};
  EXPECT_EQ(left_out_lines(recorded), lines);
}

TEST(UnmanagedWorkloads, AreBesideWhatEndsAfterTheyHaveLeft) {
  Observation observation;
  observation.duration = seconds(10);
  UnmanagedWorkloads unmanaged;
  EXPECT_FALSE(unmanaged.beside(observation, Time{}));
  unmanaged.attach(1, true);
  EXPECT_FALSE(unmanaged.beside(observation, Time{}));
  unmanaged.attach(2, false);
  unmanaged.attach(3, false);
  unmanaged.detach(2, Time{} + seconds(5));
  EXPECT_TRUE(unmanaged.beside(observation, Time{} + seconds(60)));
  unmanaged.detach(3, Time{} + seconds(20));
  EXPECT_TRUE(unmanaged.beside(observation, Time{} + seconds(29)));
  EXPECT_FALSE(unmanaged.beside(observation, Time{} + seconds(30)));
}

TEST(RecordingProfile, CountsRowsWhosePowerIsAnEstimate) {
  Written run;
  run.attach(trainer());
  run.observe(mode(2, 600000), true);
  run.observe(mode(3, 600000), true);
  run.observe(mode(3, 600000));
  EXPECT_EQ(run.read().estimated, 1U);
}

}  // namespace
}  // namespace gearshift

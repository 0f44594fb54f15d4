#include "trace/recording_profile.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/trace/recorded_run.h"
#include "trace/unmanaged_workloads.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

// A recording of what the tests say, one tick a second.
struct Written {
  Written() { writer.emplace(file, fake_header(hardware)); }

  void attach(const Workload& workload) {
    Event event;
    event.type = EventType::attached;
    event.handle = workload.handle;
    event.workload = workload;
    tick(event);
  }
  void detach(WorkloadHandle handle) {
    Event event;
    event.type = EventType::detached;
    event.handle = handle;
    tick(event);
  }
  void drift() { tick({}, Note{.type = NoteType::drift, .text = "power"}); }
  // Of a trainer, over the second before.
  void observe(const PowerMode& mode, bool estimate = false) {
    Observation observation;
    observation.power_is_estimate = estimate;
    observation.setting = measure(mode).setting;
    observation.power_mean_mw = 15000;
    observation.cost[0].minibatches = 40;
    observation.cost[0].minibatch_mean = milliseconds(50);
    observation.duration = seconds(1);
    tick({}, Note{.type = NoteType::observation, .observation = &observation});
  }
  RecordedProfiles read() {
    writer->finish();
    EXPECT_EQ(writer->failure(), "");
    RecordingReader reader(file);
    return read_recorded_profiles(reader);
  }

 private:
  void tick(const std::optional<Event>& event, std::optional<Note> note = {}) {
    now += seconds(1);
    std::vector<Event> events;
    if (event) events.push_back(*event);
    writer->tick({.now = now, .events = events, .readings = {}});
    if (note) {
      note->time = now;
      writer->note(*note);
    }
    writer->status({});
  }

  Hardware hardware;
  TempTree folder;
  std::filesystem::path file = folder.at("run.db");
  std::optional<RecordingWriter> writer;
  Time now{};
};

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

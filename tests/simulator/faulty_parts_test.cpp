// Each fault by itself, around fakes.
#include <gtest/gtest.h>

#include "simulator/faulty_board.h"
#include "simulator/faulty_world.h"
#include "tests/fakes/fake_world.h"
#include "tests/fakes/manual_clock.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

FaultPlan from_2_to_5_s(FaultKind kind, std::size_t knob = 0, std::int64_t value = 0) {
  return {{.kind = kind,
           .begin = Time{} + seconds(2),
           .end = Time{} + seconds(5),
           .knob = knob,
           .value = value}};
}

Reading read_at(FaultySensor& sensor, seconds at) {
  std::vector<Reading> readings;
  sensor.read(Time{} + at, readings);
  return readings.at(0);
}

TEST(FaultySensor, MissesAndShowsTheAbsurdForItsTime) {
  for (const auto& [kind, state] : {std::pair(FaultKind::reading_missing, ReadingState::missing),
                                    std::pair(FaultKind::reading_absurd, ReadingState::absurd)}) {
    Hardware hardware;
    const FaultPlan plan = from_2_to_5_s(kind);
    FaultySensor sensor(std::make_unique<FakeSensor>(hardware), plan);
    EXPECT_EQ(read_at(sensor, seconds(1)).state, ReadingState::ok);
    EXPECT_EQ(read_at(sensor, seconds(2)).state, state);
    EXPECT_FALSE(sensor.explain(read_at(sensor, seconds(3))).empty());
    EXPECT_EQ(read_at(sensor, seconds(5)).state, ReadingState::ok);
  }
}

TEST(FaultySensor, SticksAtWhatItShowedAndLooksFresh) {
  Hardware hardware;
  const FaultPlan plan = from_2_to_5_s(FaultKind::reading_stuck);
  FaultySensor sensor(std::make_unique<FakeSensor>(hardware), plan);
  const std::int64_t before = read_at(sensor, seconds(2)).value;
  hardware.extra_mw = 9000;
  const Reading stuck = read_at(sensor, seconds(4));
  EXPECT_EQ(stuck.value, before);
  EXPECT_EQ(stuck.taken, Time{} + seconds(4));
  EXPECT_EQ(read_at(sensor, seconds(5)).value, before + 9000);
}

struct Knobs {
  explicit Knobs(FaultPlan faults) : plan(std::move(faults)) {}
  Hardware hardware;
  ManualClock clock;
  FaultPlan plan;
  FaultyActuator actuator{std::make_unique<FakeActuator>(hardware), plan, clock};
};

TEST(FaultyActuator, RefusesOnlyItsKnobAndOnlyForItsTime) {
  Knobs knobs(from_2_to_5_s(FaultKind::knob_refuses, 1));
  knobs.actuator.write(1, 600000);
  knobs.clock.time = Time{} + seconds(2);
  EXPECT_THROW(knobs.actuator.write(1, 300000), KnobError);
  EXPECT_NO_THROW(knobs.actuator.write(0, 3));
  knobs.clock.time = Time{} + seconds(5);
  EXPECT_NO_THROW(knobs.actuator.write(1, 300000));
}

TEST(FaultyActuator, ALyingKnobReadsBackWhatWasWrittenAndDoesNothing) {
  Knobs knobs(from_2_to_5_s(FaultKind::knob_lies, 1));
  knobs.clock.time = Time{} + seconds(2);
  knobs.actuator.write(1, 300000);
  EXPECT_EQ(knobs.actuator.read(1), 300000);
  EXPECT_EQ(knobs.hardware.values[1], 900000);
  knobs.clock.time = Time{} + seconds(5);
  EXPECT_EQ(knobs.actuator.read(1), 900000);
}

TEST(FaultyActuator, AThrottledClockStaysBelowAndComesBack) {
  Knobs knobs(from_2_to_5_s(FaultKind::board_throttles, 1, 300000));
  EXPECT_EQ(knobs.actuator.read(1), 900000);
  knobs.clock.time = Time{} + seconds(2);
  EXPECT_EQ(knobs.actuator.read(1), 300000);
  knobs.actuator.write(1, 600000);
  EXPECT_EQ(knobs.hardware.values[1], 300000);
  knobs.clock.time = Time{} + seconds(5);
  EXPECT_EQ(knobs.actuator.read(1), 600000);
}

TEST(FaultyActuator, WithoutItsHelperTheBoardIsAtItsHighestUntilAnotherOneComes) {
  Knobs knobs(from_2_to_5_s(FaultKind::helper_vanishes));
  knobs.hardware.values = {2, 300000};
  EXPECT_EQ(knobs.actuator.read(1), 300000);
  knobs.clock.time = Time{} + seconds(2);
  EXPECT_EQ(knobs.actuator.read(1), std::nullopt);
  EXPECT_EQ(knobs.hardware.values, (std::vector<std::int64_t>{4, 900000}));
  EXPECT_EQ(knobs.actuator.write(1, 600000), Progress::away);
  EXPECT_EQ(knobs.hardware.values[1], 900000);
  knobs.clock.time = Time{} + seconds(5);
  EXPECT_EQ(knobs.actuator.read(1), 900000);
  EXPECT_EQ(knobs.actuator.write(1, 600000), Progress::done);
}

int count(const EventBuffer& events, EventType type) {
  return static_cast<int>(std::count_if(events.begin(), events.end(),
                                        [type](const Event& e) { return e.type == type; }));
}

EventBuffer wait(FaultyWorld& world, seconds until) {
  EventBuffer events;
  Time now{};
  while (now < Time{} + until) now = world.wait_until(Time{} + until, events);
  return events;
}

TEST(FaultyWorld, AStalledTrainerReportsNothing) {
  Hardware hardware;
  FakeWorld inner(hardware, seconds(60));
  inner.attach(seconds(0));
  const FaultPlan plan = from_2_to_5_s(FaultKind::trainer_stalls);
  FaultyWorld world(inner, plan);
  EXPECT_GT(count(wait(world, seconds(1)), EventType::minibatch), 0);
  wait(world, seconds(2));
  EXPECT_EQ(count(wait(world, seconds(4)), EventType::minibatch), 0);
  wait(world, seconds(5));
  EXPECT_GT(count(wait(world, seconds(6)), EventType::minibatch), 0);
}

TEST(FaultyWorld, AVanishedTrainerIsDetachedAndComesBackUnderAnotherHandle) {
  Hardware hardware;
  FakeWorld inner(hardware, seconds(60));
  inner.attach(seconds(0));
  const FaultPlan plan = from_2_to_5_s(FaultKind::trainer_vanishes);
  FaultyWorld world(inner, plan);
  world.command(1, {.sequence = 1, .batch_size = 32, .run = Run::both});
  wait(world, seconds(1));
  world.command(1, {.sequence = 2, .batch_size = 32, .run = Run::both});
  EXPECT_EQ(inner.commands.size(), 1U);  // only the one that came after it had attached
  EXPECT_EQ(count(wait(world, seconds(2)), EventType::detached), 1);
  EXPECT_TRUE(wait(world, seconds(4)).empty());
  world.command(1, {.sequence = 3, .batch_size = 8, .run = Run::both});
  EXPECT_EQ(inner.commands.size(), 1U);
  const EventBuffer back = wait(world, seconds(5));
  const auto attached = std::find_if(back.begin(), back.end(), [](const Event& event) {
    return event.type == EventType::attached;
  });
  ASSERT_NE(attached, back.end());
  EXPECT_NE(attached->handle, 1);
  EXPECT_EQ(attached->workload.batch_size, 32);
  const EventBuffer after = wait(world, seconds(6));
  ASSERT_GT(after.size(), 0U);
  EXPECT_EQ(after[0].minibatch.workload, attached->handle);
  EXPECT_EQ(after[0].minibatch.set_sequence, 0U);  // of a command this connection never had
  world.command(attached->handle, {.sequence = 4, .batch_size = 8, .run = Run::both});
  EXPECT_EQ(inner.commands.size(), 2U);
}

TEST(FaultyWorld, AServerThatCameBackIsHeardUnderItsNewHandle) {
  Hardware hardware;
  FakeWorld inner(hardware, seconds(60));
  inner.attach(seconds(0));
  Event report;
  report.type = EventType::requests;
  report.handle = report.requests.workload = 1;
  for (const std::uint32_t sequence : {2U, 3U}) {
    report.requests.set_sequence = sequence;
    inner.at(seconds(4 + sequence), report);
  }
  const FaultPlan plan = from_2_to_5_s(FaultKind::trainer_vanishes);
  FaultyWorld world(inner, plan);
  wait(world, seconds(1));
  world.command(1, {.sequence = 2, .batch_size = 32, .run = Run::both});
  std::vector<RequestReport> heard;
  WorkloadHandle handle = 0;
  for (const int second : {2, 5, 8}) {
    for (const Event& event : wait(world, seconds(second))) {
      if (event.type == EventType::attached) handle = event.handle;
      if (event.type == EventType::requests) heard.push_back(event.requests);
    }
  }
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_NE(handle, 1);
  for (const RequestReport& one : heard) EXPECT_EQ(one.workload, handle);
  EXPECT_EQ(heard[0].set_sequence, 0U) << "of a command this connection never had";
  EXPECT_EQ(heard[1].set_sequence, 3U);
}

// What it is given to answer is what came, which may be less than it runs with.
TEST(FaultyWorld, AServerComesBackWithItsOwnBatchSizeThoughItsLastBatchWasNotFull) {
  Hardware hardware;
  FakeWorld inner(hardware, seconds(60));
  Event hello;
  hello.type = EventType::attached;
  hello.handle = hello.workload.handle = 2;
  hello.workload.kind = Kind::infer;
  hello.workload.batch_size = 16;
  inner.at(seconds(1), hello);
  Event batch;
  batch.type = EventType::minibatch;
  batch.handle = batch.minibatch.workload = 2;
  batch.minibatch.batch_size = 3;
  inner.at(seconds(1), batch);
  const FaultPlan plan = from_2_to_5_s(FaultKind::trainer_vanishes);
  FaultyWorld world(inner, plan);
  std::vector<std::int32_t> hellos;
  for (const int second : {1, 2, 5, 6}) {
    for (const Event& event : wait(world, seconds(second))) {
      if (event.type == EventType::attached) hellos.push_back(event.workload.batch_size);
    }
  }
  EXPECT_EQ(hellos, (std::vector<std::int32_t>{16, 16}));
}

}  // namespace
}  // namespace gearshift

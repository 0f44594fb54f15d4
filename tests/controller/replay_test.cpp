// A tick is a pure function of what it consumed: recorded inputs, fed again, give equal decisions.
#include <gtest/gtest.h>

#include "controller/controller.h"
#include "limits/operator_limit.h"
#include "tests/fakes/counted_allocations.h"
#include "tests/fakes/fake_world.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

// Feeds the ticks of a recording: the same times, events and readings.
class ReplayedInputs {
 public:
  explicit ReplayedInputs(const KeepingRecorder& recorded) : recorded_(recorded) {}

  Time next(EventBuffer& events) {
    if (tick_ >= recorded_.times.size()) {
      Event stop;
      stop.type = EventType::stop;
      events.push_back(stop);
      return recorded_.times.back();
    }
    for (std::size_t i = 0; i < recorded_.event_counts[tick_]; ++i) {
      events.push_back(recorded_.events[event_++]);
    }
    return recorded_.times[tick_];
  }
  void read(std::vector<Reading>& readings) {
    for (std::size_t i = 0; i < recorded_.reading_counts[tick_]; ++i) {
      readings.push_back(recorded_.readings[reading_++]);
    }
    ++tick_;
  }

 private:
  const KeepingRecorder& recorded_;
  std::size_t tick_ = 0;
  std::size_t event_ = 0;
  std::size_t reading_ = 0;
};

class ReplayWorld : public World {
 public:
  explicit ReplayWorld(ReplayedInputs& inputs) : inputs_(inputs) {}
  Time wait_until(Time, EventBuffer& events) override { return inputs_.next(events); }
  void command(WorkloadHandle, const WorkloadCommand&) override {}
  std::string_view script() override { return {}; }
  void publish(const Status&) override {}

 private:
  ReplayedInputs& inputs_;
};

class ReplaySensor : public Sensor {
 public:
  explicit ReplaySensor(ReplayedInputs& inputs) : inputs_(inputs) {}
  void read(Time, std::vector<Reading>& readings) override { inputs_.read(readings); }
  std::string explain(const Reading&) const override { return {}; }

 private:
  ReplayedInputs& inputs_;
};

Request search(const PolicyContext& context, const std::vector<Observation>& answers) {
  static const PowerMode kModes[] = {mode(2, 600000), mode(3, 600000), mode(4, 900000),
                                     mode(3, 900000)};
  if (context.workloads[index(Kind::train)]->offers(32)) return measure(kModes[0], 32);
  if (answers.size() < std::size(kModes)) return measure(kModes[answers.size()]);
  const Observation* best = nullptr;
  for (const Observation& answer : answers) {
    const bool fits = answer.within(context.goal.power_mw.value_or(0));
    if (fits &&
        (best == nullptr || answer.value({Objective::time}) < best->value({Objective::time}))) {
      best = &answer;
    }
  }
  if (best == nullptr) return {};
  Request request;
  request.what = Request::What::hold;
  request.setting = best->setting;
  return request;
}

TEST(Replay, RecordedInputsGiveEqualDecisions) {
  Hardware hardware;
  FakeWorld world(hardware, seconds(90));
  world.refuse_from = 32;
  world.refusal = "memory: 32 samples do not fit";
  world.attach(seconds(2));
  world.cap(milliseconds(12340), 18000);
  world.cap(seconds(40), 30000);
  world.at(seconds(50), [&hardware] { hardware.frozen = true; });
  world.at(seconds(54), [&hardware] { hardware.frozen = false; });
  Board board = fake_board(hardware);
  ListPolicy policy(search);
  OperatorLimit limit(25000);
  KeepingRecorder recorded;
  LimitSource* limits[] = {&limit};
  Controller(world, board, policy, recorded, limits, {}).run();

  Hardware again;
  ReplayedInputs inputs(recorded);
  ReplayWorld replay_world(inputs);
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<ReplaySensor>(inputs));
  Board replay_board(std::make_unique<FakeActuator>(again), std::move(sensors), fake_traits());
  ListPolicy replay_policy(search);
  OperatorLimit replay_limit(25000);
  KeepingRecorder replayed;
  LimitSource* replay_limits[] = {&replay_limit};
  Controller(replay_world, replay_board, replay_policy, replayed, replay_limits, {}).run();

  ASSERT_GT(recorded.notes.size(), 10U);
  ASSERT_EQ(recorded.notes.size(), replayed.notes.size());
  for (std::size_t i = 0; i < recorded.notes.size(); ++i) {
    EXPECT_EQ(recorded.notes[i].type, replayed.notes[i].type) << i;
    EXPECT_EQ(recorded.notes[i].time, replayed.notes[i].time) << i;
    EXPECT_EQ(recorded.notes[i].setting, replayed.notes[i].setting) << i;
    EXPECT_EQ(recorded.notes[i].text, replayed.notes[i].text) << i;
  }
  EXPECT_EQ(hardware.writes, again.writes);
}

// Keeps nothing, so that what is counted is the loop's own.
class NullRecorder : public Recorder {
 public:
  void tick(const TickInputs&) override {
    ++ticks;
    if (ticks == 400) before = allocations;
    if (ticks == 500) after = allocations;
  }
  void note(const Note&) override {}
  void status(const Status&) override {}
  int ticks = 0;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

TEST(Loop, ASteadyTickAllocatesNothing) {
  Hardware hardware;
  FakeWorld world(hardware, seconds(60));
  world.attach(seconds(2));
  Board board = fake_board(hardware);
  ListPolicy policy(
      [](const PolicyContext&, const std::vector<Observation>&) { return hold(mode(4, 900000)); });
  OperatorLimit limit(25000);
  NullRecorder recorder;
  LimitSource* limits[] = {&limit};
  Controller(world, board, policy, recorder, limits, {}).run();
  ASSERT_GT(recorder.ticks, 500);
  EXPECT_EQ(recorder.after, recorder.before);
}

}  // namespace
}  // namespace gearshift

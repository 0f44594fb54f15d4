#include "trace/recorded_goal.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace gearshift {
namespace {

Observation observation_of(std::int64_t mhz, int minibatch_ms, std::int64_t power_mw) {
  Observation seen;
  seen.setting.mode = {{mhz}, 1};
  seen.setting.batch_size[index(Kind::train)] = 10;
  seen.setting.run = Run::train;
  seen.power_mean_mw = power_mw;
  seen.cost[index(Kind::train)].minibatches = 5;
  seen.cost[index(Kind::train)].minibatch_mean = std::chrono::milliseconds(minibatch_ms);
  return seen;
}

RecordedNote note_of(NoteType type, const std::string& text,
                     const std::optional<Setting>& setting = std::nullopt) {
  RecordedNote note;
  note.type = type;
  note.text = text;
  note.setting = setting;
  return note;
}

Event server_event(EventType type, Duration latency) {
  Event event;
  event.type = type;
  event.handle = 7;
  event.workload.handle = 7;
  event.workload.kind = Kind::infer;
  event.workload.managed = true;
  event.workload.latency = latency;
  return event;
}

TEST(RecordedGoal, TheReferenceIsWhatItsSettingCost) {
  RecordedGoal goal({.objective = Objective::weighted});
  Rationale rationale;
  const Observation slow = observation_of(300, 40, 10'000);
  const Observation fast = observation_of(900, 20, 30'000);
  for (const Observation* seen : {&slow, &fast}) {
    rationale.note({.type = NoteType::observation, .observation = seen});
  }
  EXPECT_FALSE(goal.goal().has_reference());
  goal.note(note_of(NoteType::reference, "", fast.setting), rationale);
  EXPECT_DOUBLE_EQ(goal.goal().reference_s, 0.002);
  EXPECT_DOUBLE_EQ(goal.goal().reference_j, 0.06);
  Event change;
  change.type = EventType::goal;
  change.goal.energy_weight = 1;
  goal.consume(change);
  EXPECT_EQ(goal.goal().energy_weight, 1);
  EXPECT_TRUE(goal.goal().has_reference());
  goal.note(note_of(NoteType::reference, "none: nothing was measured"), rationale);
  EXPECT_FALSE(goal.goal().has_reference());
}

TEST(RecordedGoal, AChangeThatTheLoopRefusedChangesNothing) {
  const Goal asked{.objective = Objective::time};
  RecordedGoal goal(asked);
  Event change;
  change.type = EventType::goal;
  change.goal.energy_weight = 0.3;
  goal.consume(change);
  EXPECT_EQ(goal.goal(), asked);
}

TEST(RecordedGoal, TheRateIsTheMeasuredOneOfTheServerThatIsThere) {
  RecordedGoal goal({.objective = Objective::throughput});
  const Rationale rationale;
  goal.consume(server_event(EventType::attached, std::chrono::milliseconds(250)));
  EXPECT_EQ(goal.goal().latency, Duration(std::chrono::milliseconds(250)));
  goal.note(note_of(NoteType::arrivals, "59.98 requests a second"), rationale);
  EXPECT_DOUBLE_EQ(goal.goal().arrivals_per_s, 59.98);
  EXPECT_TRUE(goal.goal().one_by_one);
  goal.note(note_of(NoteType::arrivals, "as many as before"), rationale);
  EXPECT_DOUBLE_EQ(goal.goal().arrivals_per_s, 59.98);
  goal.consume(server_event(EventType::detached, {}));
  EXPECT_EQ(goal.goal(), (Goal{.objective = Objective::throughput}));
}

TEST(RecordedGoal, TheDefaultObjectiveIsThatOfWhoRuns) {
  const Goal asked{.objective_by_default = true};
  RecordedGoal goal(asked);
  const Rationale rationale;
  Event trainer;
  trainer.type = EventType::attached;
  trainer.handle = trainer.workload.handle = 3;
  trainer.workload.managed = true;
  goal.consume(trainer);
  goal.consume(server_event(EventType::attached, std::chrono::milliseconds(250)));
  EXPECT_EQ(goal.goal().objective, Objective::time);
  goal.note(note_of(NoteType::arrivals, "60 requests a second"), rationale);
  EXPECT_EQ(goal.goal().objective, Objective::throughput);
  goal.consume(server_event(EventType::detached, {}));
  EXPECT_EQ(goal.goal(), asked);
}

}  // namespace
}  // namespace gearshift

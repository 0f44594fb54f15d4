#include "bridge/explanation_answer.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/bridge/frames.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

KnobSpace eight_knobs() {
  KnobSpace space;
  for (int i = 0; i < 8; ++i) {
    space.knobs.push_back({"knob_" + std::to_string(i) + "_mhz", Unit::khz, KnobClass::clock, {1}});
  }
  return space;
}

Setting largest_setting(std::int64_t value) {
  Setting setting;
  setting.mode.count = 8;
  setting.mode.values.fill(4'000'000'000'000);
  setting.mode.values[0] = value;
  setting.batch_size = {16, wire::kMaxBatchSize};
  return setting;
}

Observation observation(std::int64_t value, Outcome outcome = Outcome::complete) {
  Observation seen;
  seen.setting = largest_setting(value);
  seen.outcome = outcome;
  seen.power_mean_mw = 28'000 + value;
  seen.power_margin_mw = 250;
  seen.limit_mw = 30'000;
  seen.cost[0] = {milliseconds(50), {}, {}, {}, {}, 12};
  seen.cost[1] = {milliseconds(5), {}, {}, {}, {}, 120};
  return seen;
}

// Thirty settings, of which the second last is held.
Rationale thirty(Time now) {
  Rationale rationale(Goal{.objective = Objective::energy, .energy_j = 2.5});
  rationale.predict_with([](const Setting& of) -> std::optional<PredictedCost> {
    if (of == largest_setting(4)) return std::nullopt;
    return PredictedCost{milliseconds(47), 27'000 + of.mode.values[0]};
  });
  rationale.plan = "planned: 12.4 W";
  rationale.heat = "no temperature for 10 s";
  rationale.battery.energy_wh = 4.512;
  rationale.battery.current_a = -1.25;
  rationale.battery.taken = now - seconds(45);
  const Setting held = largest_setting(28);
  rationale.note(
      {NoteType::goal, now - seconds(7), 0, 30'000, nullptr, nullptr, nullptr, "operator"});
  for (int i = 0; i < 30; ++i) {
    const Observation seen = observation(i, i == 3 ? Outcome::over_limit : Outcome::complete);
    rationale.note({NoteType::observation, now, 0, 0, nullptr, &seen, nullptr, ""});
  }
  rationale.note({NoteType::hold, now - seconds(2), 0, 0, &held, nullptr, nullptr, ""});
  return rationale;
}

wire::ExplanationAnswer read_pages(const Rationale& rationale, Time now, int& pages) {
  wire::FrameBuffer buffer;
  wire::ExplanationAnswer answer;
  pages = 0;
  do {
    wire::pack(buffer, rationale, eight_knobs(), now,
               static_cast<std::uint32_t>(answer.rationale.tried().size()));
    EXPECT_LE(buffer.view().size(), wire::kMaxFrameBytes);
    ++pages;
  } while (wire::add_explanation(buffer.view(), answer) && pages < 10);
  return answer;
}

TEST(ExplanationAnswer, SaysWhatStandsInForAChoice) {
  const Time now{std::chrono::hours(1)};
  Rationale rationale;
  rationale.know_safe(largest_setting(1).mode);
  const Setting held = largest_setting(2);
  rationale.note({.type = NoteType::safe, .time = now, .setting = &held, .text = "over the cap"});
  int pages = 0;
  const wire::ExplanationAnswer answer = read_pages(rationale, now, pages);
  EXPECT_EQ(answer.rationale.held.holding, Holding::fallback);
  EXPECT_EQ(answer.rationale.held.why, "over the cap");
}

TEST(ExplanationAnswer, IsPutTogetherFromItsPages) {
  const Time now{std::chrono::hours(1)};
  const Rationale rationale = thirty(now);
  int pages = 0;
  const wire::ExplanationAnswer answer = read_pages(rationale, now, pages);
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(answer.total, 30u);
  ASSERT_EQ(answer.rationale.tried().size(), 30u);
  for (std::size_t i = 0; i < 30; ++i) {
    const Observation& told = answer.rationale.tried()[i].observation;
    const Observation& known = rationale.tried()[i].observation;
    EXPECT_EQ(told.setting, known.setting) << i;
    EXPECT_EQ(told.outcome, known.outcome) << i;
    EXPECT_EQ(needed_power_mw(told), needed_power_mw(known)) << i;
    EXPECT_EQ(told.limit_mw, 30'000) << i;
    EXPECT_EQ(told.cost[1].minibatch_mean, milliseconds(5)) << i;
    EXPECT_EQ(told.cost[0].minibatches, 12u) << i;
    EXPECT_EQ(answer.rationale.tried()[i].predicted, rationale.tried()[i].predicted) << i;
  }
  EXPECT_EQ(answer.rationale.held.holding, Holding::choice);
  EXPECT_EQ(answer.rationale.held.setting, largest_setting(28));
  EXPECT_EQ(answer.rationale.held.predicted, (PredictedCost{milliseconds(47), 27'028}));
  EXPECT_EQ(answer.rationale.tried()[4].predicted, std::nullopt);
  EXPECT_EQ(answer.rationale.plan, "planned: 12.4 W");
  EXPECT_EQ(answer.rationale.heat, "no temperature for 10 s");
  EXPECT_EQ(answer.rationale.battery.energy_wh, 4.512);
  EXPECT_EQ(answer.rationale.battery.current_a, -1.25);
  EXPECT_EQ(answer.rationale.battery.voltage_v, std::nullopt);
  EXPECT_EQ(answer.now - answer.rationale.battery.taken, seconds(45));
  EXPECT_EQ(answer.now - answer.rationale.held.since, seconds(2));
  EXPECT_EQ(answer.now - answer.rationale.cap.since, seconds(7));
  EXPECT_EQ(answer.rationale.cap.power_mw, 30'000);
  EXPECT_EQ(answer.rationale.cap.source, "operator");
  EXPECT_EQ(answer.rationale.goal().objective, Objective::energy);
  EXPECT_DOUBLE_EQ(*answer.rationale.goal().energy_j, 2.5);
  ASSERT_EQ(answer.knobs.size(), 8u);
  EXPECT_EQ(answer.knobs.knobs[7].name, "knob_7_mhz");
  EXPECT_EQ(answer.knobs.knobs[7].unit, Unit::khz);
}

TEST(ExplanationAnswer, HasTheLimitsOfTheGoal) {
  Goal goal{.latency = milliseconds(60), .arrivals_per_s = 90, .energy_j = 0.25};
  for (const bool one_by_one : {false, true}) {
    goal.one_by_one = one_by_one;
    int pages = 0;
    const wire::ExplanationAnswer answer =
        read_pages(Rationale(goal), Time{std::chrono::hours(1)}, pages);
    const Goal told = answer.rationale.goal();
    EXPECT_EQ(told.latency, goal.latency);
    EXPECT_NEAR(told.arrivals_per_s, 90, 1e-5);
    EXPECT_EQ(told.energy_j, goal.energy_j);
    EXPECT_EQ(told.one_by_one, one_by_one);
  }
}

// The field came later than the others.
TEST(ExplanationAnswer, OfAnOlderDaemonLeavesOutHowRequestsCome) {
  wire::FrameBuffer buffer;
  wire::pack(buffer, Rationale(Goal{.one_by_one = true}), eight_knobs(), Time{}, 0);
  std::string frame(buffer.view());
  const std::size_t at = frame.find("one_by_one");
  ASSERT_NE(at, std::string::npos);
  frame.replace(at, 10, "other_name");
  wire::ExplanationAnswer answer;
  wire::add_explanation(frame, answer);
  EXPECT_FALSE(answer.rationale.goal().one_by_one);
}

TEST(ExplanationAnswer, OfADaemonThatHasTriedNothingIsOnePage) {
  int pages = 0;
  const wire::ExplanationAnswer answer =
      read_pages(Rationale(), Time{std::chrono::hours(1)}, pages);
  EXPECT_EQ(pages, 1);
  EXPECT_EQ(answer.rationale.held.holding, Holding::nothing);
  EXPECT_EQ(answer.now - answer.rationale.held.since, seconds(0)) << "not since the boot";
  EXPECT_TRUE(answer.rationale.tried().empty());
}

TEST(ExplanationAnswer, HasRoomForTheLongestTexts) {
  const Time now{std::chrono::hours(1)};
  Rationale rationale = thirty(now);
  rationale.held.why = std::string(4000, 'w');
  rationale.cap.source = std::string(4000, 's');
  rationale.plan = std::string(4000, 'p');
  rationale.heat = std::string(4000, 'h');
  rationale.battery = {.energy_wh = 9'999.999,
                       .capacity_wh = 9'999.999,
                       .voltage_v = 999.999,
                       .current_a = -999.999,
                       .estimate = true};
  int pages = 0;
  EXPECT_EQ(read_pages(rationale, now, pages).rationale.held.why, std::string(256, 'w'));
}

TEST(ExplanationAnswer, IsBoundedForAnyBytes) {
  using std::string_literals::operator""s;
  wire::ExplanationAnswer answer;
  for (const std::string& frame : {""s, "\x05"s, "\xdf\xff\xff\xff\xff"s,
                                   "\x81\xa4type\xab"
                                   "explanation"s,
                                   std::string(5000, 'a')}) {
    EXPECT_THROW(wire::add_explanation(frame, answer), std::runtime_error);
  }
  // A setting with a number too few.
  const std::string short_row = frames::Map("explanation")
                                    .with("from", 1)
                                    .with("tried", std::vector<std::vector<int>>{{1, 2, 3}})
                                    .frame();
  EXPECT_THROW(wire::add_explanation(short_row, answer), std::runtime_error);
}

}  // namespace
}  // namespace gearshift

#include "cli/simulated_faults.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/fakes/fake_board.h"

namespace gearshift {
namespace {

using std::chrono::seconds;

SimulatedFaults parse(const std::vector<std::string>& texts) {
  return parse_faults(texts, fakes::two_knobs(), 30'000);
}

std::string error(const std::string& text) {
  try {
    parse({text});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(SimulatedFaults, EveryWordIsItsKind) {
  const std::string knob = fakes::two_knobs().knobs[1].name;
  const std::pair<std::string, FaultKind> words[] = {
      {"reading_missing", FaultKind::reading_missing},
      {"reading_stuck", FaultKind::reading_stuck},
      {"reading_absurd", FaultKind::reading_absurd},
      {"knob_refuses:" + knob, FaultKind::knob_refuses},
      {"knob_lies:" + knob, FaultKind::knob_lies},
      {"board_throttles:" + knob + "=600", FaultKind::board_throttles},
      {"trainer_stalls", FaultKind::trainer_stalls},
      {"trainer_vanishes", FaultKind::trainer_vanishes},
      {"helper_vanishes", FaultKind::helper_vanishes}};
  for (const auto& [text, kind] : words) {
    const FaultPlan plan = parse({text + "@2s..5s"}).plan;
    ASSERT_EQ(plan.size(), 1U) << text;
    EXPECT_EQ(plan[0].kind, kind) << text;
    EXPECT_EQ(plan[0].begin, Time{} + seconds(2)) << text;
    EXPECT_EQ(plan[0].end, Time{} + seconds(5)) << text;
  }
  const Fault throttle = parse({"board_throttles:" + knob + "=600"}).plan[0];
  EXPECT_EQ(throttle.knob, 1U);
  EXPECT_EQ(throttle.value, 600'000);
}

TEST(SimulatedFaults, WithoutTimesItLastsForEver) {
  const FaultPlan plan = parse({"trainer_stalls", "reading_stuck@3s"}).plan;
  EXPECT_EQ(plan[0].begin, Time{});
  EXPECT_EQ(plan[0].end, Time::max());
  EXPECT_EQ(plan[1].begin, Time{} + seconds(3));
  EXPECT_EQ(plan[1].end, Time::max());
}

TEST(SimulatedFaults, TheRunLastsLongEnoughToMeetThemAll) {
  EXPECT_EQ(parse({}).least_duration, Duration::zero());
  EXPECT_GT(parse({"reading_stuck@3s..90s", "trainer_stalls@60s"}).least_duration, seconds(90));
}

TEST(SimulatedFaults, ACapStepsAndComesBack) {
  ScheduleLimit cap(parse({"cap_steps:20W@10s..40s", "cap_steps:15W@20s..30s"}).caps);
  const auto at = [&](int second) { return *cap.power_mw(Time{} + seconds(second)); };
  EXPECT_EQ(at(0), 30'000);
  EXPECT_EQ(at(10), 20'000);
  EXPECT_EQ(at(20), 15'000);
  EXPECT_EQ(at(30), 20'000);
  EXPECT_EQ(at(40), 30'000);
  EXPECT_TRUE(parse({"reading_stuck"}).caps.empty());
}

TEST(SimulatedFaults, StepsOfACapAreInTheOrderOfTimeHoweverTheyNest) {
  const SimulatedFaults faults = parse({"cap_steps:25W@60s..180s", "cap_steps:20W@100s..140s"});
  const std::pair<int, std::int64_t> wanted[] = {
      {0, 30'000}, {60, 25'000}, {100, 20'000}, {140, 25'000}, {180, 30'000}};
  ASSERT_EQ(faults.caps.size(), std::size(wanted));
  for (std::size_t i = 0; i < std::size(wanted); ++i) {
    EXPECT_EQ(faults.caps[i].after, seconds(wanted[i].first));
    EXPECT_EQ(faults.caps[i].power_mw, wanted[i].second) << wanted[i].first;
  }
}

TEST(SimulatedFaults, WhatCannotBeUsedIsNamedWithTheWayOut) {
  EXPECT_NE(error("reading_gone").find("reading_missing"), std::string::npos);
  EXPECT_NE(error("").find("reading_stuck@20s..30s"), std::string::npos);
  EXPECT_NE(error("knob_lies").find("cpu_cores"), std::string::npos);
  EXPECT_NE(error("knob_refuses:fan").find("'fan'"), std::string::npos);
  EXPECT_NE(error("board_throttles:gpu_mhz").find("KNOB=VALUE"), std::string::npos);
  EXPECT_NE(error("board_throttles:gpu_mhz=601").find("600"), std::string::npos);
  EXPECT_NE(error("board_throttles:gpu_mhz=300,600").find("one value"), std::string::npos);
  EXPECT_NE(error("trainer_stalls:now").find("':now'"), std::string::npos);
  EXPECT_NE(error("trainer_stalls@soon").find("60s"), std::string::npos);
  EXPECT_NE(error("trainer_stalls@9s..3s").find("before"), std::string::npos);
  EXPECT_NE(error("trainer_stalls@9s..").find("''"), std::string::npos);
  EXPECT_NE(error("cap_steps:20").find("30W"), std::string::npos);
  EXPECT_NE(error("cap_steps@5s").find("30W"), std::string::npos);
}

TEST(SimulatedFaults, ReadsWhatTheWorldBecomes) {
  const SimulatedFaults faults = parse({"throttle:0.8@10s..20s", "workload:mobilenet.csv@30s"});
  EXPECT_TRUE(faults.plan.empty());
  ASSERT_EQ(faults.changes.size(), 2U);
  EXPECT_EQ(faults.changes[0].factor, 0.8);
  EXPECT_EQ(faults.changes[0].begin, Time{} + std::chrono::seconds(10));
  EXPECT_EQ(faults.changes[0].end, Time{} + std::chrono::seconds(20));
  EXPECT_EQ(faults.changes[1].factor, 0);
  EXPECT_EQ(faults.changes[1].workload, "mobilenet.csv");
  EXPECT_EQ(faults.least_duration, std::chrono::seconds(150)) << "time to notice and to search";
  EXPECT_NE(error("throttle:1.5").find("0.8"), std::string::npos);
  EXPECT_NE(error("throttle").find("0.8"), std::string::npos);
  EXPECT_NE(error("workload@5s").find("profile"), std::string::npos);
}

}  // namespace
}  // namespace gearshift

#include "cli/note_text.h"

#include <gtest/gtest.h>

#include "controller/limit_source.h"

namespace gearshift {
namespace {

using std::chrono::seconds;

std::string cut(std::int64_t power_mw, std::int64_t limit_mw) {
  Observation observation;
  observation.outcome = Outcome::over_limit;
  observation.power_mean_mw = power_mw;
  observation.limit_mw = limit_mw;
  return describe(observation, {});
}

TEST(NoteText, PowerOverTheCapDoesNotReadAsTheCap) {
  EXPECT_EQ(cut(20'005, 20'000), "over the cap: 20.1 W of 20.0 W");
  EXPECT_EQ(cut(30'700, 30'000), "over the cap: 30.7 W of 30.0 W");
  EXPECT_EQ(cut(20'760, 20'750), "over the cap: 20.8 W of 20.75 W");
  EXPECT_EQ(cut(14'638, 14'637), "over the cap: 14.7 W of 14.637 W");
  Observation estimate;
  estimate.outcome = Outcome::over_limit;
  estimate.power_mean_mw = 21'000;
  estimate.limit_mw = 20'000;
  estimate.power_is_estimate = true;
  EXPECT_EQ(describe(estimate, {}), "over the cap: 21.0 W (estimate) of 20.0 W");
  const KnobSpace space;
  NoteText notes(space);
  EXPECT_EQ(notes.line({.type = NoteType::over_cap, .value = 20'005, .text = "stepping down"}),
            "over the cap at 20.1 W: stepping down");
}

TEST(NoteText, EnergyIsAsTheNewestGoalCountsIt) {
  Observation seen;
  seen.power_mean_mw = 15'000;
  seen.setting.batch_size = {0, 4};
  seen.cost[1].minibatch_mean = std::chrono::milliseconds(40);
  seen.cost[1].minibatches = 20;
  const KnobSpace space;
  NoteText notes(space);
  const auto line = [&] {
    return notes.line(
        {.type = NoteType::observation, .setting = &seen.setting, .observation = &seen});
  };
  EXPECT_NE(line().find("0.150 J a sample"), std::string::npos) << line();
  notes.follow({.arrivals_per_s = 60, .one_by_one = true});
  EXPECT_NE(line().find("0.250 J a sample"), std::string::npos) << line();
}

TEST(NoteText, NoBreachIsToldWhereNoneIsKnown) {
  const KnobSpace space;
  NoteText notes(space);
  EXPECT_EQ(notes.line({.type = NoteType::rationed, .value = 20'900, .text = "the search waits"}),
            "the search waits");
  EXPECT_FALSE(NoteText::warns(NoteType::rationed));
  EXPECT_EQ(notes.line({.type = NoteType::over_cap, .text = "no knob can be set now"}),
            "no knob can be set now");
}

// Where nothing plans it nothing else tells that a gauge is dead.
TEST(NoteText, TheEnergyOfAGaugeThatIsReadNoMoreIsToldWithItsAge) {
  const Battery battery{
      .energy_wh = 7.62, .capacity_wh = 10, .voltage_v = 11.21, .taken = Time(seconds(100))};
  EXPECT_EQ(describe(battery, seconds(9)), "7.62 of 10.00 Wh, 11.21 V");
  EXPECT_EQ(describe(battery, seconds(95)), "7.62 of 10.00 Wh (last read 95 s ago), 11.21 V");
  Status status;
  status.time = Time(seconds(195));
  status.battery = battery;
  EXPECT_NE(status_line({}, status).find(" | battery 7.62 Wh (last read 95 s ago) 11.21 V"),
            std::string::npos)
      << status_line({}, status);
  status.time = battery.taken;
  EXPECT_NE(status_line({}, status).find(" | battery 7.62 Wh 11.21 V"), std::string::npos);
}

TEST(NoteText, ACapThatIsNoPowerIsToldInWords) {
  EXPECT_EQ(cut(12'000, kLowestModeMw), "over the cap: 12.0 W of the lowest mode's power");
}

TEST(NoteText, WhereNothingCanBeSetTheBoardIsHeldAsItIs) {
  const KnobSpace space;
  const Setting setting;
  NoteText notes(space);
  const auto line = [&](NoteType type, std::string_view text) {
    return notes.line({.type = type, .setting = &setting, .text = text});
  };
  EXPECT_EQ(line(NoteType::safe, "no workload runs"),
            "no workload runs; holding the board as it is");
  EXPECT_EQ(line(NoteType::hold, ""), "holding the board as it is");
}

TEST(NoteText, ASmallPowerDoesNotReadAsNone) {
  EXPECT_EQ(cap_text(20), "20 mW");
  EXPECT_EQ(watts(49), "49 mW");
  EXPECT_EQ(watts(50), "0.1 W");
  EXPECT_EQ(watts(0), "0.0 W");
}

}  // namespace
}  // namespace gearshift

#include "cli/rationale_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/json_recorder.h"
#include "controller/limit_source.h"
#include "tests/fakes/gpu_gears.h"

namespace gearshift {
namespace {

using fakes::gpu_gear;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

class RationaleText : public testing::Test {
 protected:
  RationaleText() {
    space_.knobs = {{.name = "gpu_mhz", .unit = Unit::khz, .values = {300'000, 600'000}}};
    rationale_.predict_with([](const Setting&) {
      return PredictedCost{.minibatch = milliseconds(50), .power_mw = 20'010};
    });
    observe(300'000, 80, 15'000);
    observe(600'000, 50, 20'000);
    const Setting held = gpu_gear(600'000);
    rationale_.note({NoteType::hold, Time(seconds(9)), 0, 0, &held, nullptr, nullptr, ""});
  }

  void observe(std::int64_t gpu_khz, int minibatch_ms, std::int64_t power_mw,
               std::int64_t margin_mw = 0) {
    Observation seen = fakes::measured_gear(gpu_khz, minibatch_ms, power_mw);
    seen.power_margin_mw = margin_mw;
    rationale_.note(
        {NoteType::observation, Time(seconds(8)), 0, 0, &seen.setting, &seen, nullptr, ""});
  }
  std::string text(const Goal& goal) {
    rationale_.set_goal(goal);
    return rationale_text(space_, rationale_, Time(seconds(10)), 20);
  }

  KnobSpace space_;
  Rationale rationale_;
};

TEST_F(RationaleText, SaysWhatACapWouldChange) {
  const std::string told = text({});
  EXPECT_THAT(told, HasSubstr("2 settings, the best first"));
  EXPECT_THAT(told, HasSubstr("a cap below 20.0 W: gpu_mhz=300"));
}

TEST_F(RationaleText, TellsACapThatIsNoPowerFromNone) {
  EXPECT_THAT(text({}), HasSubstr("cap           none\n"));
  rationale_.cap = {kNoPowerMw, "battery", Time(seconds(7))};
  EXPECT_THAT(text({}), HasSubstr("cap           0 W, set by battery 3.0 s ago\n"));
  rationale_.cap.power_mw = kLowestModeMw;
  EXPECT_THAT(text({}), HasSubstr("cap           the lowest mode's power, set by battery"));
  rationale_.cap.power_mw = 29'500;
  EXPECT_THAT(text({}), HasSubstr("cap           29.5 W, set by battery"));
}

TEST_F(RationaleText, TellsTheAgeOfABatterysEnergy) {
  rationale_.battery = {.energy_wh = 7.62, .taken = Time(seconds(10) - seconds(95))};
  EXPECT_THAT(text({}), HasSubstr("battery       7.62 Wh (last read 95 s ago)\n"));
  const auto out =
      nlohmann::json::parse(rationale_json(space_, rationale_, Time(seconds(10)), Known::all));
  EXPECT_EQ(out["battery"]["energy_age_s"], 95);
}

TEST_F(RationaleText, AnotherObjectiveChangesAChoiceAndNotWhatIsHeldInItsStead) {
  const Setting lowest = gpu_gear(100'000);
  const auto hold = [&](NoteType type) {
    rationale_.note({type, Time(seconds(9)), 0, 0, &lowest, nullptr, nullptr, "no workload runs"});
  };
  hold(NoteType::hold);
  EXPECT_THAT(text({}), HasSubstr("objective energy: gpu_mhz=600"));
  hold(NoteType::safe);
  EXPECT_THAT(text({}), HasSubstr("the safe setting: no workload runs"));
  EXPECT_THAT(text({}), Not(HasSubstr("what would change")));
}

TEST_F(RationaleText, NamesTheSafeSettingWhereThatIsHeldAlone) {
  rationale_.know_safe(gpu_gear(300'000).mode);
  const auto hold = [&](std::int64_t gpu_khz) {
    const Setting held = gpu_gear(gpu_khz);
    rationale_.note({NoteType::safe, Time(seconds(9)), 0, 0, &held, nullptr, nullptr, "over"});
  };
  hold(300'000);
  EXPECT_THAT(text({}), HasSubstr("why           the safe setting: over; 1.0 s ago\n"));
  hold(600'000);
  EXPECT_THAT(text({}), HasSubstr("why           it stands in for a choice: over; 1.0 s ago\n"));
  EXPECT_THAT(text({}), Not(HasSubstr("the safe setting: over")));
}

TEST_F(RationaleText, ComparesNothingByAReferenceThatIsNotMeasured) {
  Goal goal{.objective = Objective::weighted};
  const std::string told = text(goal);
  EXPECT_THAT(told, HasSubstr("reference not measured yet"));
  EXPECT_THAT(told, HasSubstr("2 settings\n"));
  EXPECT_THAT(told, Not(HasSubstr("a cap below")));
  goal.reference_s = goal.reference_j = 1;
  EXPECT_THAT(text(goal), HasSubstr("a cap below 20.0 W: gpu_mhz=300"));
}

TEST_F(RationaleText, SaysEveryLimitAndWhatDoesNotKeepIt) {
  const std::string told = text({.energy_j = 0.07});
  EXPECT_THAT(told, HasSubstr("objective     time\nlimits        at most 0.07 J a sample\n"));
  EXPECT_THAT(told, HasSubstr("0.075 J a sample (n=10), 0.075 J of 0.07 J a sample;"));
  const auto out =
      nlohmann::json::parse(rationale_json(space_, rationale_, Time(seconds(10)), Known::all));
  EXPECT_EQ(out["energy_limit_j"], 0.07);
  EXPECT_EQ(out["tried"][0]["breaks"], nlohmann::json::parse(R"(["energy"])"));
  EXPECT_EQ(out["tried"][1]["breaks"], nlohmann::json::array());
  EXPECT_TRUE(out.at("latency_ms").is_null() && out.at("arrivals_per_s").is_null());
  EXPECT_THAT(text({}), Not(HasSubstr("limits ")));
}

// Of a server whose requests come one by one, which draws power between its batches too.
struct ServedText : RationaleText {
  ServedText() {
    rationale_ = Rationale{};
    rationale_.predict_with([](const Setting&) {
      return PredictedCost{.minibatch = milliseconds(20), .power_mw = 26'200};
    });
    serve(300'000, 4, 40, 15'000);
    serve(600'000, 4, 18, 14'400);
    serve(600'000, 16, 50, 14'100);
  }
  void serve(std::int64_t gpu_khz, std::int32_t batch_size, int minibatch_ms,
             std::int64_t power_mw) {
    Observation seen;
    seen.setting = gpu_gear(gpu_khz);
    seen.setting.batch_size = {0, batch_size};
    seen.power_mean_mw = power_mw;
    seen.cost[1].minibatch_mean = milliseconds(minibatch_ms);
    seen.cost[1].minibatches = 20;
    rationale_.note(
        {NoteType::observation, Time(seconds(8)), 0, 0, &seen.setting, &seen, nullptr, ""});
  }
};

TEST_F(ServedText, HasTheEnergyThatTheGoalCountsInTheOrderOfIt) {
  const Goal goal{.objective = Objective::energy,
                  .latency = milliseconds(900),
                  .arrivals_per_s = 60,
                  .one_by_one = true,
                  .energy_j = 0.245};
  const std::string told = text(goal);
  const std::size_t first = told.find("0.235 J a sample (n=20)");
  const std::size_t second = told.find("0.240 J a sample (n=20)");
  const std::size_t third = told.find("0.250 J a sample (n=20), 0.250 J of 0.245 J a sample");
  ASSERT_NE(third, std::string::npos) << told;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  const auto out =
      nlohmann::json::parse(rationale_json(space_, rationale_, Time(seconds(10)), Known::all));
  ASSERT_EQ(out["tried"].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(out["tried"][i]["infer"]["energy_j"],
                     rationale_.tried()[i].observation.energy_j(goal));
  }
}

TEST_F(ServedText, HoldsNoPauseAgainstThePowerThatIsPredicted) {
  EXPECT_THAT(text({.arrivals_per_s = 60, .one_by_one = true}),
              HasSubstr("predicted 20.0 ms a minibatch (time -10 %) and 26.2 W without pauses\n"));
  EXPECT_THAT(text({.arrivals_per_s = 60}), HasSubstr("and 26.2 W (power -45 %)\n"))
      << "like clockwork nothing is known of pauses";
}

TEST_F(RationaleText, TellsProgramsTheWholeGoal) {
  const auto told = [this](const Goal& goal) {
    rationale_.set_goal(goal);
    return nlohmann::json::parse(rationale_json(space_, rationale_, Time(seconds(10)), Known::all));
  };
  auto out = told({.objective = Objective::weighted, .energy_weight = 0.25});
  EXPECT_EQ(out["energy_weight"], 0.25);
  EXPECT_TRUE(out.at("reference_ms").is_null() && out.at("reference_j").is_null());
  EXPECT_TRUE(out.at("energy_limit_j").is_null());
  out = told({.objective = Objective::weighted, .reference_s = 0.002, .reference_j = 0.5});
  EXPECT_EQ(out["reference_ms"], 2);
  EXPECT_EQ(out["reference_j"], 0.5);
  out = told({.objective = Objective::target, .priced_power_mw = 60'000, .energy_j = 0.07});
  EXPECT_EQ(out["objective"], "target");
  EXPECT_EQ(out["priced_power_w"], 60);
  EXPECT_EQ(out["energy_limit_j"], 0.07);
  EXPECT_FALSE(told({}).contains("energy_weight"));
}

// What a run's status and summary have of the goal.
TEST(GoalJson, HasTheLimitOfEnergy) {
  EXPECT_EQ(to_json(Goal{.energy_j = 0.1})["energy_limit_j"], 0.1);
  EXPECT_FALSE(to_json(Goal{}).contains("energy_limit_j"));
}

TEST_F(RationaleText, ALooserCapIsNotTheOneInForce) {
  rationale_.cap = {30'000, "operator", Time(seconds(1))};
  observe(500'000, 40, 30'006);
  EXPECT_THAT(text({}), HasSubstr("a cap of 30.1 W or more: gpu_mhz=500"));
}

TEST_F(RationaleText, NoCapThatTheHeldSettingNeedsIsToldToKeepIt) {
  observe(600'000, 50, 20'250, 51);
  EXPECT_THAT(text({}), HasSubstr("a cap below 20.4 W: gpu_mhz=300"));
  observe(300'000, 40, 20'250, 51);  // needs as much
  EXPECT_THAT(text({}), HasSubstr("a cap below 20.4 W: nothing that was measured"));
}

TEST_F(RationaleText, HasNoMinusZero) {
  EXPECT_THAT(text({}), HasSubstr("(time +0 %) and 20.0 W (power +0 %)"));
}

TEST_F(RationaleText, SaysOfLeastLatencyThatThereIsNoServer) {
  EXPECT_THAT(text({.objective = Objective::latency, .arrivals_per_s = 60}),
              HasSubstr("objective     latency, but no server is attached: the time of a sample "
                        "counts\n"));
}

}  // namespace
}  // namespace gearshift

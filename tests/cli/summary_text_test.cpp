#include "cli/summary_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace gearshift {
namespace {

using testing::HasSubstr;
using testing::Not;

class SummaryText : public testing::Test {
 protected:
  SummaryText() {
    space_.knobs = {{.name = "gpu_mhz", .unit = Unit::khz, .values = {300'000, 600'000}}};
  }

  static Setting setting(std::int64_t gpu_khz) {
    Setting made;
    made.mode.count = 1;
    made.mode.values[0] = gpu_khz;
    return made;
  }
  void choose(Objective objective) {
    summary_.choices.push_back({.cap_mw = 30'000,
                                .goal = {.objective = objective},
                                .setting = setting(600'000),
                                .observation = {}});
  }
  SummaryInputs inputs() const { return {space_, summary_, ledger_}; }

  KnobSpace space_;
  Summary summary_;
  Ledger ledger_;
};

TEST_F(SummaryText, SaysWhatWasSought) {
  choose(Objective::throughput);
  EXPECT_THAT(summary_text(inputs()), HasSubstr("under 30.0 W, most training gpu_mhz=600\n"));
  choose(Objective::energy);
  EXPECT_THAT(summary_text(inputs()), HasSubstr("under 30.0 W, least energy gpu_mhz=600\n"));
}

TEST_F(SummaryText, SaysThatAChoiceWasOverTheCapAndWhatWasHeldInstead) {
  choose(Objective::time);
  EXPECT_THAT(summary_text(inputs()), Not(HasSubstr("held instead")));
  EXPECT_TRUE(summary_json(inputs())["choices"][0]["held_instead"].is_null());
  Choice& choice = summary_.choices[0];
  choice.observation.emplace();
  choice.observation->outcome = Outcome::over_limit;
  choice.observation->power_mean_mw = 49'600;
  choice.observation->limit_mw = 30'000;
  choice.held_instead = setting(300'000);
  EXPECT_THAT(summary_text(inputs()), HasSubstr("over the cap: 49.6 W of 30.0 W\n"));
  EXPECT_THAT(summary_text(inputs()), HasSubstr("held instead: gpu_mhz=300\n"));
  EXPECT_EQ(summary_json(inputs())["choices"][0]["held_instead"]["gpu_mhz"], 300.0);
}

}  // namespace
}  // namespace gearshift

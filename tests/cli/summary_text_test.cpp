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

// Of the four minibatches of an epoch; each takes `workload` seconds, ten times that in epoch 0.
void train(Ledger& ledger, WorkloadHandle workload, std::uint32_t epoch, int minibatches) {
  Minibatch minibatch;
  minibatch.workload = workload;
  minibatch.epoch = epoch;
  minibatch.batch_size = 16;
  minibatch.elapsed = std::chrono::seconds(workload * (epoch == 0 ? 10 : 1));
  for (int i = 0; i < minibatches; ++i) ledger.add(minibatch, 64);
}

TEST_F(SummaryText, EachTrainerHasEpochsOfItsOwn) {
  train(ledger_, 1, 0, 4);
  train(ledger_, 1, 1, 4);
  train(ledger_, 2, 0, 4);
  train(ledger_, 2, 1, 1);  // cut short
  auto epochs = summary_json(inputs())["train_epochs"];
  EXPECT_EQ(epochs["epoch_0"]["epochs"], 2);
  EXPECT_EQ(epochs["epoch_0"]["elapsed_s"], 60) << "the mean of 40 and 80 s";
  EXPECT_EQ(epochs["epochs_1_on"]["epochs"], 1);
  EXPECT_EQ(epochs["epochs_1_on"]["elapsed_s"], 4) << "the last epoch of the first is complete";
  EXPECT_THAT(summary_text(inputs()), HasSubstr("train epoch 0         60.00 s"));
  EXPECT_THAT(summary_text(inputs()), HasSubstr(", 0.0 J (mean of 2)\n"));
}

TEST_F(SummaryText, AnEpochThatWasCutShortStandsForNoneThatIsComplete) {
  train(ledger_, 1, 0, 2);
  EXPECT_EQ(summary_json(inputs())["train_epochs"]["epoch_0"]["elapsed_s"], 20) << "all there is";
  train(ledger_, 2, 0, 4);
  EXPECT_EQ(summary_json(inputs())["train_epochs"]["epoch_0"]["elapsed_s"], 80);
}

}  // namespace
}  // namespace gearshift

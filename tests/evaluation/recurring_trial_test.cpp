#include "evaluation/recurring_trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/recurring_report.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

// Asks what a function says, given the last answer: null before the first. Fails where it says
// nothing.
class AskingPolicy : public Policy {
 public:
  using Ask = std::function<std::optional<Setting>(const PolicyContext&, const Observation*)>;
  explicit AskingPolicy(Ask ask) : ask_(std::move(ask)) {}

  Request start(const PolicyContext& context) override {
    context_ = context;
    return asked(nullptr);
  }
  Request resume(const Observation& answer) override {
    if (keeps_answers) answers.push_back(answer);
    return asked(&answer);
  }
  Request replace(std::string_view, const PolicyContext& context) override {
    return start(context);
  }
  std::string_view failure() const override { return "no idea"; }
  std::string take_log() override { return {}; }

  std::vector<Observation> answers;
  bool keeps_answers = true;

 private:
  Request asked(const Observation* seen) {
    const std::optional<Setting> setting = ask_(context_, seen);
    if (!setting) return {Request::What::failed, {}};
    return {Request::What::remeasure, *setting};
  }

  Ask ask_;
  PolicyContext context_;
};

// Two batch sizes and two limits; at eta 0.5 and 200 W an epoch costs (power + 200) / 2 * time.
class RecurringTrialTest : public testing::Test {
 protected:
  RecurringTrialTest() {
    profile_ = parse_profiles(
        "device,workload,kind,batch_size,power_limit_w,epoch_s,power_w\n"
        "gpu,d-n-o,train,8,100,20,100\ngpu,d-n-o,train,8,200,12,200\n"
        "gpu,d-n-o,train,16,100,10,100\ngpu,d-n-o,train,16,200,6,200\n",
        "gpu.csv")[0];
    rows_ = {{"d", "n", "o", 8, 0.5, {2, 2}}, {"d", "n", "o", 16, 0.5, {3, std::nullopt}}};
    job_ = make_recurring_job(profile_, rows_, {"d-n-o", 0.5, 16, 5}, 0.5);
  }

  static Setting at(const PolicyContext& context, std::size_t mode, std::int32_t batch_size) {
    Setting setting;
    setting.mode = context.modes[mode];
    setting.batch_size[index(Kind::train)] = batch_size;
    setting.run = Run::train;
    return setting;
  }

  Profile profile_;
  std::vector<EpochsToTarget> rows_;
  RecurringJob job_;
};

TEST_F(RecurringTrialTest, ExpectedCostCountsRunsThatMiss) {
  EXPECT_DOUBLE_EQ(job_.expected_cost_j(job_.modes[0], 8), 2 * 3000);
  // One run of two reaches the target in 3 epochs, the other one pays 5 and is run again.
  EXPECT_DOUBLE_EQ(job_.expected_cost_j(job_.modes[1], 16), 8 * 1200);
  EXPECT_TRUE(std::isinf(job_.expected_cost_j(job_.modes[0], 4)));
  EXPECT_EQ(best_fixed(job_).batch_size, 8);
  EXPECT_DOUBLE_EQ(best_fixed(job_).cost_j, 2 * 2400);
}

TEST_F(RecurringTrialTest, TheBestFixedSettingCostsOne) {
  AskingPolicy policy(
      [](const PolicyContext& context, const Observation*) { return at(context, 1, 8); });
  const RecurringTrial trial = play(job_, policy, {});
  ASSERT_EQ(trial.recurrences.size(), 8u);
  EXPECT_EQ(trial.runs, 8u);
  const RecurringRow row{"policy", &job_, 1, trial};
  EXPECT_DOUBLE_EQ(cost_ratio(row), 1);
  EXPECT_DOUBLE_EQ(last_ratio(row), 1);
}

TEST_F(RecurringTrialTest, ALimitMayChangeAtEveryEpoch) {
  AskingPolicy policy([](const PolicyContext& context, const Observation* seen) {
    return at(context, seen != nullptr && seen->job.state == JobState::running ? 1 : 0, 8);
  });
  const RecurringTrial trial = play(job_, policy, {});
  EXPECT_DOUBLE_EQ(trial.recurrences[0].cumulative_cost_j, 3000 + 2400);
  EXPECT_EQ(policy.answers[0].job.epochs, 1u);
  EXPECT_EQ(policy.answers[1].job.epochs, 2u);
  EXPECT_EQ(policy.answers[1].job.state, JobState::reached);
}

TEST_F(RecurringTrialTest, RunsThatMissOrCostTooMuchCountAndAreRunAgain) {
  AskingPolicy policy(
      [](const PolicyContext& context, const Observation*) { return at(context, 1, 16); });
  const RecurringTrial patient = play(job_, policy, {.beta = 100});
  EXPECT_EQ(patient.runs, patient.recurrences.size() + patient.missed);
  EXPECT_GT(patient.missed, 0u);
  EXPECT_DOUBLE_EQ(patient.cost_j, 1200.0 * (3.0 * 8 + 5.0 * static_cast<double>(patient.missed)));

  // A bound of the cheapest run itself: after one run of 3 epochs, those that miss end with the
  // 4th.
  const RecurringTrial strict = play(job_, policy, {.beta = 1});
  EXPECT_GT(strict.stopped, 0u);
  EXPECT_EQ(strict.recurrences.size(), 8u);
}

TEST_F(RecurringTrialTest, AnotherBatchSizeAbandonsTheRun) {
  bool left = false;
  AskingPolicy policy([&left](const PolicyContext& context, const Observation* seen) {
    if (seen == nullptr) return at(context, 0, 16);
    left = true;
    return at(context, 0, 8);
  });
  const RecurringTrial trial = play(job_, policy, {});
  EXPECT_TRUE(left);
  EXPECT_EQ(trial.abandoned, 1u);
  EXPECT_DOUBLE_EQ(trial.recurrences[0].cumulative_cost_j, 1500 + 2 * 3000);
}

TEST_F(RecurringTrialTest, EqualSeedsGiveEqualTrials) {
  AskingPolicy policy(
      [](const PolicyContext& context, const Observation*) { return at(context, 1, 16); });
  EXPECT_EQ(play(job_, policy, {.seed = 3}).cost_j, play(job_, policy, {.seed = 3}).cost_j);
}

TEST_F(RecurringTrialTest, APolicyThatNeverReachesTheTargetEnds) {
  rows_[1].epochs = {std::nullopt};
  const RecurringJob job = make_recurring_job(profile_, rows_, {"d-n-o", 0.5, 16, 5}, 0.5);
  AskingPolicy policy(
      [](const PolicyContext& context, const Observation*) { return at(context, 1, 16); });
  const RecurringTrial trial = play(job, policy, {});
  EXPECT_NE(trial.failure.find("100 runs a recurrence"), std::string::npos) << trial.failure;
  EXPECT_TRUE(trial.recurrences.empty());
  const RecurringRow row{"policy", &job, 1, trial};
  EXPECT_TRUE(std::isinf(cost_ratio(row)));
  EXPECT_TRUE(std::isinf(last_ratio(row)));
  const std::string json = recurring_json(std::vector{row});
  EXPECT_NE(json.find("\"cost_ratio\": null"), std::string::npos) << json;
  EXPECT_NE(json.find("\"regret_j\": null"), std::string::npos);
}

TEST_F(RecurringTrialTest, APolicyThatAbandonsItsRunsIsToldSo) {
  AskingPolicy policy([](const PolicyContext& context, const Observation* seen) {
    const bool small = seen != nullptr && seen->setting.batch_size[index(Kind::train)] == 8;
    return at(context, 0, small ? 16 : 8);
  });
  policy.keeps_answers = false;
  const RecurringTrial trial = play(job_, policy, {});
  EXPECT_EQ(trial.failure,
            "the policy took 100 runs a recurrence and abandoned most; it must keep a batch size "
            "until the run ends");
  EXPECT_TRUE(trial.recurrences.empty());
}

TEST_F(RecurringTrialTest, APolicyThatAsksForWhatIsRefusedAloneEnds) {
  AskingPolicy policy(
      [](const PolicyContext& context, const Observation*) { return at(context, 0, 4); });
  policy.keeps_answers = false;
  EXPECT_NE(play(job_, policy, {}).failure.find("refused settings alone"), std::string::npos);
}

TEST_F(RecurringTrialTest, WhereAPolicyFailsTheLowestModeIsKept) {
  AskingPolicy policy([](const PolicyContext& context, const Observation* seen) {
    return seen == nullptr ? std::optional(at(context, 1, 8)) : std::nullopt;
  });
  const RecurringTrial trial = play(job_, policy, {});
  EXPECT_EQ(trial.failure, "no idea");
  ASSERT_EQ(trial.recurrences.size(), recurrence_count(job_));
  EXPECT_EQ(trial.recurrences.back().mode, job_.modes.front());
  EXPECT_EQ(trial.recurrences.back().batch_size, 16);
  EXPECT_NE(recurring_json(std::vector{RecurringRow{"policy", &job_, 1, trial}})
                .find("\"failure\": \"no idea\""),
            std::string::npos);
}

TEST_F(RecurringTrialTest, UsualTermsAreWhatHalfOfTheBatchSizesReach) {
  rows_.push_back({"d", "n", "o", 8, 0.7, {std::nullopt}});
  const std::vector<std::int32_t> batch_sizes = {8, 16};
  const auto terms = usual_terms("d-n-o", rows_, batch_sizes);
  ASSERT_TRUE(terms);
  EXPECT_DOUBLE_EQ(terms->target_metric, 0.5);
  EXPECT_EQ(terms->batch_size, 16);
  EXPECT_EQ(terms->most_epochs, 4u);
  EXPECT_FALSE(usual_terms("another", rows_, batch_sizes));
}

TEST_F(RecurringTrialTest, JobsThatCannotBePlayedAreRefused) {
  EXPECT_THROW(make_recurring_job(profile_, rows_, {"d-n-o", 0.9, 16, 5}, 0.5), std::runtime_error);
  EXPECT_THROW(make_recurring_job(profile_, rows_, {"d-n-o", 0.5, 16, 1}, 0.5), std::runtime_error);
  EXPECT_THROW(parse_job_terms("d-n-o,0.5,16"), std::runtime_error);
  EXPECT_EQ(parse_job_terms("d-n-o,0.5,16,100").most_epochs, 100u);
}

TEST_F(RecurringTrialTest, AJobHasAsManyBatchSizesAsAWorkloadMayHave) {
  std::string table = "device,workload,kind,batch_size,power_limit_w,epoch_s,power_w\n";
  rows_.clear();
  const auto add = [&](std::int32_t batch_size) {
    table += "gpu,d-n-o,train," + std::to_string(batch_size) + ",100,20,100\n";
    rows_.push_back({"d", "n", "o", batch_size, 0.5, {2}});
  };
  const auto job_of = [&] {
    profile_ = parse_profiles(table, "gpu.csv")[0];
    return make_recurring_job(profile_, rows_, {"d-n-o", 0.5, 1, 5}, 0.5);
  };
  for (std::int32_t size = 1; size <= static_cast<std::int32_t>(kMaxBatchSizes); ++size) add(size);
  AskingPolicy policy(
      [](const PolicyContext& context, const Observation*) { return at(context, 0, 32); });
  EXPECT_EQ(play(job_of(), policy, {}).recurrences.size(), 2 * kMaxBatchSizes);
  add(33);
  try {
    job_of();
    ADD_FAILURE() << "not refused";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "gpu d-n-o: has 33 batch sizes; at most 32: leave some out of --profile or "
                 "--epochs");
  }
}

}  // namespace
}  // namespace gearshift

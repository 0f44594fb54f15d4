#include "evaluation/online_row.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evaluation/online_report.h"
#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

// Of small_profile: 60 / speed ms and 10 + 4 speed W, speed 1, 2, 3 with 4 cores and 2, 4, 6
// with 8.
struct OnlineRowTest : testing::Test {
  Profile profile = small_profile();
  Grid grid = small_grid(profile);

  OnlineRowTest() { grid.problems = {online_problem(std::nullopt, 0), online_problem(20'000, 0)}; }

  std::uint32_t cell(double speed) const {
    for (std::size_t i = 0; i < profile.cells().size(); ++i) {
      if (profile.cells()[i].power_w == 10 + 4 * speed) return static_cast<std::uint32_t>(i);
    }
    return UINT32_MAX;
  }
  Trial trial_of(const std::vector<double>& speeds, double held) const {
    Trial trial;
    for (const double speed : speeds) trial.sequence.push_back(cell(speed));
    trial.held = setting_of(profile.cells()[cell(held)], Kind::train);
    return trial;
  }
};

TEST_F(OnlineRowTest, TheReferenceIsTheHighestSetting) {
  const Profile batches = small_profile(Kind::train, {16, 32});
  const Goal goal = with_reference({.objective = Objective::weighted}, batches);
  EXPECT_DOUBLE_EQ(goal.reference_s, 0.02 / 32);
  EXPECT_DOUBLE_EQ(goal.reference_j, 34 * 0.02 / 32);
  for (const double weight : {0.0, 0.25, 1.0}) {
    Goal weighted = goal;
    weighted.energy_weight = weight;
    EXPECT_DOUBLE_EQ(cost_of(weighted, *batches.find(batches.knobs().highest(), 32)), 1);
  }
}

TEST_F(OnlineRowTest, AProfileWithoutItsHighestSettingIsRefused) {
  Profile holed(profile.knobs());
  holed.add(profile.cells().front());
  try {
    with_reference({}, holed);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("batch size 16"), std::string::npos) << error.what();
  }
}

TEST_F(OnlineRowTest, TheOptimumAgreesWithBruteForce) {
  for (const double weight : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    for (const std::int64_t cap_mw : {13'000, 14'000, 20'000, 30'000, 50'000}) {
      const Goal goal = with_reference(online_problem(cap_mw, weight).goal, profile);
      double least = INFINITY;
      for (const ProfileCell& cell : profile.cells()) {
        if (1e3 * cell.power_w > static_cast<double>(cap_mw)) continue;
        const double time = cell.minibatch_ms / 10;  // of the reference, 10 ms and 34 W
        least = std::min(least, weight * time * cell.power_w / 34 + (1 - weight) * time);
      }
      const ProfileCell* best = best_online_cell(goal, OptimumTable(profile));
      if (cap_mw == 13'000) {
        EXPECT_EQ(best, nullptr);
      } else {
        ASSERT_NE(best, nullptr);
        EXPECT_NEAR(cost_of(goal, *best), least, 1e-12);
      }
    }
  }
}

TEST_F(OnlineRowTest, WhatIsHeldCountsForAllThatFollows) {
  const OnlineRow row = judge_online(grid, {}, trial_of({1, 3, 6, 3}, 6), 200);
  ASSERT_EQ(row.regret.size(), 200u);
  EXPECT_DOUBLE_EQ(row.regret[0], 5);
  EXPECT_DOUBLE_EQ(row.regret[1], 1);
  EXPECT_EQ(row.reached, 3u);
  EXPECT_EQ(row.settled, 5u);  // one regret of 1 among 20 is 5 % in the mean
  EXPECT_DOUBLE_EQ(row.cumulative_regret, 7);
  EXPECT_EQ(row.late_regret, 0.0);
  EXPECT_EQ(row.over_cap, 0u);
}

TEST_F(OnlineRowTest, SettledIsLostAgainByTheLastWindow) {
  std::vector<double> speeds(60, 6);
  EXPECT_EQ(judge_online(grid, {}, trial_of(speeds, 6), 60).settled, 1u);
  speeds[40] = 3;  // the first of the last window
  EXPECT_EQ(judge_online(grid, {}, trial_of(speeds, 6), 60).settled, std::nullopt);
  speeds[40] = 6;
  speeds[39] = 3;
  EXPECT_EQ(judge_online(grid, {}, trial_of(speeds, 6), 60).settled, 41u);
}

TEST_F(OnlineRowTest, FewMeasurementsHaveNoLateRegretAndNoWindow) {
  const OnlineRow row = judge_online(grid, {}, trial_of({6}, 6), 19);
  EXPECT_EQ(row.reached, 1u);
  EXPECT_EQ(row.settled, std::nullopt);
  EXPECT_EQ(row.late_regret, std::nullopt);
  EXPECT_EQ(judge_online(grid, {}, trial_of({6}, 3), 102).late_regret, 1.0);
}

// Speed 2 (18 W) is the best below 20 W; speed 6 is over it and would cost a third.
TEST_F(OnlineRowTest, ASettingOverTheLimitIsNeverNearAndNeverARegain) {
  const Case capped{.problem = 1};
  const OnlineRow row = judge_online(grid, capped, trial_of({6, 1, 6, 2}, 2), 30);
  EXPECT_DOUBLE_EQ(row.optimum->power_w, 18);
  EXPECT_DOUBLE_EQ(row.regret[0], 0);
  EXPECT_EQ(row.reached, 4u);
  EXPECT_EQ(row.over_cap, 2u);
  EXPECT_DOUBLE_EQ(row.cumulative_regret, 1);
}

// A sample of speed s takes 60 / 16 / s ms at 10 + 4 s W, so (37.5 / s + 15) mJ.
TEST_F(OnlineRowTest, ASettingOverTheLimitOfEnergyIsNoOptimumAndNeverNear) {
  grid.problems = {online_problem(std::nullopt, 0)};
  grid.problems[0].goal.energy_j = 0.0213;
  EXPECT_DOUBLE_EQ(judge_online(grid, {}, trial_of({6}, 6), 30).optimum->power_w, 34);
  grid.problems[0].goal.power_mw = 30'000;
  const OnlineRow none = judge_online(grid, {}, trial_of({4}, 4), 30);
  EXPECT_EQ(none.optimum, nullptr);
  grid.problems[0].goal.energy_j = 0.0245;  // of speed 4, 24.375 mJ
  grid.problems[0].goal.power_mw = 26'000;
  const OnlineRow row = judge_online(grid, {}, trial_of({3, 6, 4}, 4), 30);
  EXPECT_EQ(row.optimum->power_w, 26);
  EXPECT_EQ(row.reached, 3U);
  EXPECT_EQ(row.over_cap, 1U) << "more energy than allowed is not more power";
}

TEST_F(OnlineRowTest, NoOptimumNoFigures) {
  grid.problems = {online_problem(10'000, 0.5)};
  const OnlineRow row = judge_online(grid, {}, trial_of({6}, 6), 30);
  EXPECT_EQ(row.optimum, nullptr);
  EXPECT_EQ(row.reached, std::nullopt);
  const auto standings = summarise_online(std::vector{row});
  EXPECT_EQ(standings[0].solvable, 0u);
  EXPECT_NE(online_json(grid, std::vector{row}, standings).find("\"solvable\": false"),
            std::string::npos);
}

TEST_F(OnlineRowTest, ACellThatTheProfileLacksIsInfinitelyDear) {
  Trial trial = trial_of({6}, 6);
  trial.sequence.push_back(1000);
  EXPECT_TRUE(std::isinf(judge_online(grid, {}, trial, 30).cumulative_regret));
}

TEST_F(OnlineRowTest, ASeedThatNeverGetsThereIsLaterThanAllOthers) {
  std::vector<OnlineRow> rows;
  for (const std::vector<double>& speeds : {std::vector<double>{6}, {1, 1, 6}}) {
    rows.push_back(judge_online(grid, {}, trial_of(speeds, 6), 120));
  }
  rows.push_back(judge_online(grid, {}, trial_of({1}, 3), 120));
  const auto two_of_three = summarise_online(rows);
  ASSERT_EQ(two_of_three.size(), 1u);
  EXPECT_EQ(two_of_three[0].reached, 3);
  EXPECT_EQ(two_of_three[0].never_settled, 1u);
  rows.push_back(rows.back());
  const auto half = summarise_online(rows);
  EXPECT_TRUE(std::isinf(half[0].reached));
  EXPECT_EQ(half[0].never_reached, 2u);
  EXPECT_NE(online_text(grid, rows, half).find("never"), std::string::npos);
  EXPECT_NE(online_json(grid, rows, half).find("\"reached_median\": null"), std::string::npos);
}

TEST_F(OnlineRowTest, TextAndPageTellOfAScriptThatFailed) {
  std::vector<OnlineRow> rows = {judge_online(grid, {}, trial_of({1}, 6), 120),
                                 judge_online(grid, {}, trial_of({1}, 6), 120)};
  rows[1].trial.failure = "first.lua:2: no idea\ncalls:";
  const auto standings = summarise_online(rows);
  const std::string line = "first failed in 1 of 2 rows: first.lua:2: no idea";
  EXPECT_NE(online_text(grid, rows, standings).find('\n' + line + '\n'), std::string::npos);
  EXPECT_NE(online_html(grid, rows, standings, {}).find("<p>" + line + "</p>"), std::string::npos);
}

TEST_F(OnlineRowTest, CsvHasALineARowUnderTheFieldsOfJson) {
  const std::vector<OnlineRow> rows = {judge_online(grid, {}, trial_of({1}, 6), 120)};
  const std::string text = online_csv(grid, rows);
  EXPECT_EQ(text.find("policy,workload,problem,energy_weight,cap_w,seed,"), 0u);
  EXPECT_NE(text.find("\nfirst,lenet,online,0.0,,1,true,"), std::string::npos) << text;
}

TEST_F(OnlineRowTest, HtmlHasAFigureAWorkloadAndAPointAStretch) {
  const std::vector<OnlineRow> rows = {judge_online(grid, {}, trial_of({1}, 6), 120)};
  const std::string text =
      online_html(grid, rows, summarise_online(rows),
                  {.command = "a <b>", .version = "", .date = "", .conditions = ""});
  EXPECT_NE(text.find("<figcaption>lenet</figcaption>"), std::string::npos);
  EXPECT_NE(text.find("first: 500.00 % up to measurement 1<"), std::string::npos) << text;
  EXPECT_NE(text.find("first: 0.00 % up to measurement 120<"), std::string::npos);
  EXPECT_NE(text.find("a &lt;b&gt;"), std::string::npos);
}

TEST(OnlineKeys, TellWeightsApart) {
  const Profile profile = small_profile();
  Grid grid = small_grid(profile);
  grid.problems = {online_problem(std::nullopt, 0.25), online_problem(std::nullopt, 0.5)};
  const CaseKeys keys(grid);
  EXPECT_NE(keys.key({.problem = 0}), keys.key({.problem = 1}));
}

}  // namespace
}  // namespace gearshift

// The scripts that never end: what they learn of a modelled board, and what they do under a cap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/random_draw.h"
#include "policies/numerics/setting_grid.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

std::string setting_text(const Setting& setting) {
  std::string text;
  for (const std::int64_t value : setting.mode.values) text += std::to_string(value) + " ";
  return text;
}

// A run of so many measurements against a modelled board whose readings scatter.
struct Learning {
  std::vector<Setting> measured;
  std::vector<double> excess;  // of each: true value over the least within the cap, less 1
  int over = 0;                // measured over the cap
  int repeated_over = 0;       // of these, the same setting again
  Request last;
  std::string failure;
  std::string log;
};

class LearningScript : public testing::TestWithParam<std::string> {
 protected:
  LearningScript()
      : board_(*built_in_board_model("jetson-agx-orin")), world_(problem_.world(board_)) {
    const SettingGrid grid(problem_.context(), board_.highest);
    for (std::size_t i = 0; i < grid.size(); ++i) settings_.push_back(grid.setting(i));
    Goal& goal = world_.problem().goal;
    goal.power_mw.reset();
    goal.objective = Objective::weighted;
    const Observation highest = world_.truth(settings_.back());
    goal.reference_s = highest.sample_s(Kind::train);
    goal.reference_j = highest.sample_j(Kind::train);
  }

  Goal& goal() { return world_.problem().goal; }

  double least() const {
    double least = INFINITY;
    for (const Setting& setting : settings_) {
      const Observation truth = world_.truth(setting);
      if (truth.keeps(goal_of_world())) least = std::min(least, truth.value(goal_of_world()));
    }
    return least;
  }
  const Goal& goal_of_world() const { return const_cast<ProfileWorld&>(world_).problem().goal; }

  Learning learn(int measurements, std::uint64_t seed = 7) {
    world_.problem().seed = seed;
    LuaPolicy policy(GetParam(), script_text(GetParam()), board_);
    std::mt19937_64 random(seed);
    Learning learning;
    std::set<std::string> over;
    const double best = least();
    Request request = policy.start(world_.problem().context());
    while (static_cast<int>(learning.measured.size()) < measurements &&
           (request.what == Request::What::measure || request.what == Request::What::remeasure)) {
      Observation answer = world_.truth(request.setting);
      learning.measured.push_back(request.setting);
      learning.excess.push_back(answer.value(goal()) / best - 1);
      Duration& mean = answer.cost[0].minibatch_mean;
      mean = Duration(static_cast<std::int64_t>(static_cast<double>(mean.count()) *
                                                std::exp(0.01 * draw_normal(random))));
      if (!answer.within(goal().power_mw.value_or(0))) {
        answer = cut_short(request.setting, Outcome::over_limit);
        answer.limit_mw = *goal().power_mw;
        ++learning.over;
        learning.repeated_over += !over.insert(setting_text(request.setting)).second;
      }
      if (request.setting.mode.values[0] == refused_cores_) {
        answer = cut_short(request.setting, Outcome::refused);
      }
      request = policy.resume(answer);
    }
    learning.last = request;
    learning.failure = std::string(policy.failure());
    for (std::string line = policy.take_log(); !line.empty(); line = policy.take_log()) {
      learning.log += line + "\n";
    }
    return learning;
  }

  OrinProblem problem_;
  BoardModel board_;
  ProfileWorld world_;
  std::vector<Setting> settings_;
  std::int64_t refused_cores_ = -1;  // a value of cpu_cores that the board does not take
};

TEST_P(LearningScript, ComesToTheLeastWeightedCostAndStaysThere) {
  for (const double weight : {0.0, 0.5, 1.0}) {
    goal().energy_weight = weight;
    const Learning learning = learn(300);
    ASSERT_EQ(learning.measured.size(), 300u) << learning.failure;
    EXPECT_EQ(learning.measured.front(), settings_.back()) << "starts from the highest";
    const auto first = std::find_if(learning.excess.begin(), learning.excess.end(),
                                    [](double excess) { return excess <= 0.03; });
    EXPECT_LE(first - learning.excess.begin(), 60) << weight;
    double regret = 0;
    for (std::size_t i = 100; i < 300; ++i) regret += learning.excess[i] / 200;
    EXPECT_LT(regret, 0.02) << weight;
  }
}

TEST_P(LearningScript, NeverStopsLooking) {
  goal().energy_weight = 0.5;
  const Learning learning = learn(500);
  // On so few settings all near the best are known by then: it looks at those again.
  std::map<std::string, int> late;
  for (std::size_t i = 250; i < learning.measured.size(); ++i) {
    ++late[setting_text(learning.measured[i])];
  }
  int most = 0;
  for (const auto& [setting, count] : late) most = std::max(most, count);
  EXPECT_GE(250 - most, 3) << "looked elsewhere";
  EXPECT_LE(250 - most, 80) << "held the best";
}

TEST_P(LearningScript, TakesWhatTheGuardCutAsAWall) {
  goal().power_mw = 25'000;
  goal().energy_weight = 0.25;
  const Learning learning = learn(300);
  ASSERT_EQ(learning.measured.size(), 300u) << learning.failure;
  EXPECT_EQ(learning.repeated_over, 0);
  EXPECT_LE(learning.over, 30);
  double regret = 0;
  int within = 0;
  for (std::size_t i = 100; i < 300; ++i) {
    if (learning.excess[i] < -1e-9) continue;  // over the cap: better than what may be held
    regret += learning.excess[i];
    ++within;
  }
  EXPECT_LT(regret / within, 0.06);
}

TEST_P(LearningScript, SaysWhenNothingKeepsTheCap) {
  goal().power_mw = 1'000;
  const Learning learning = learn(100);
  EXPECT_LT(learning.measured.size(), 20u);
  EXPECT_EQ(learning.last.what, Request::What::hold_safe);
  EXPECT_NE(learning.log.find("nothing measured keeps the goal"), std::string::npos)
      << learning.log;
}

TEST_P(LearningScript, DoesTheSameWithTheSameSeedAndElseNot) {
  const Learning one = learn(150, 3), again = learn(150, 3), other = learn(150, 4);
  EXPECT_EQ(one.measured, again.measured);
  EXPECT_NE(one.measured, other.measured);
}

// After a restart what is known is not measured again: the goal changed, and observations stay.
TEST_P(LearningScript, RemembersWithinItsInstructions) {
  std::vector<Observation>& known = world_.problem().observations;
  while (known.size() < 4'000) {
    for (const Setting& setting : settings_) known.push_back(world_.truth(setting));
  }
  const Learning learning = learn(20);
  EXPECT_EQ(learning.failure, "");
  EXPECT_EQ(learning.measured.size(), 20u);
}

TEST_P(LearningScript, GoesOnFromWhatIsKnown) {
  goal().energy_weight = 1;
  LuaPolicy policy(GetParam(), script_text(GetParam()), board_);
  Request request = policy.start(world_.problem().context());
  std::vector<Observation> made;
  for (int i = 0; i < 60; ++i) {
    made.push_back(world_.truth(request.setting));
    request = policy.resume(made.back());
  }
  world_.problem().observations = made;
  const auto best = std::min_element(made.begin(), made.end(), [&](const auto& a, const auto& b) {
    return a.value(goal()) < b.value(goal());
  });
  const Learning learning = learn(80);
  double least_excess = INFINITY;
  for (const double excess : learning.excess) least_excess = std::min(least_excess, excess);
  EXPECT_LE(least_excess, best->value(goal()) / least() - 1 + 1e-9);
  EXPECT_NE(learning.measured.front(), settings_.back());
}

// What was known before the cap fell is no try in vain.
TEST_P(LearningScript, GoesOnUnderACapThatNothingKnownKeeps) {
  goal().energy_weight = 0.25;
  goal().power_mw = 20'000;
  std::vector<Observation>& known = world_.problem().observations;
  for (const Setting& setting : settings_) {
    const Observation truth = world_.truth(setting);
    if (known.size() < 12 && !truth.within(30'000) && truth.within(40'000)) known.push_back(truth);
  }
  ASSERT_EQ(known.size(), 12u);
  const Learning learning = learn(60);
  ASSERT_EQ(learning.measured.size(), 60u) << learning.log << learning.failure;
  EXPECT_LE(learning.over, 30);
  EXPECT_TRUE(world_.truth(learning.measured.back()).within(20'000));
}

// What is known needs no measurement of its own before anything is looked at.
TEST_P(LearningScript, OneKnownSettingIsNotMeasuredAgainFirst) {
  goal().energy_weight = 0.5;
  const Setting known = settings_[settings_.size() / 2];
  world_.problem().observations = {world_.truth(known)};
  const Learning learning = learn(1);
  ASSERT_EQ(learning.measured.size(), 1u) << learning.failure;
  EXPECT_NE(learning.measured[0], known);
}

INSTANTIATE_TEST_SUITE_P(Scripts, LearningScript, testing::Values("ogd.lua", "thompson.lua"),
                         [](const auto& test) {
                           return test.param.substr(0, test.param.find('.'));
                         });

class Descent : public LearningScript {};

// Behind an alarm of drift the setting in force is all that is known, and it may lie at the cap:
// from there every step that is faster is over it.
TEST_P(Descent, OneKnownSettingAtTheCapIsNoPlaceToStartFrom) {
  goal().energy_weight = 0;
  goal().power_mw = 25'000;
  double dearest = 0;
  for (const Setting& setting : settings_) {
    const Observation truth = world_.truth(setting);
    if (!truth.within(25'000) || truth.power_mean_mw < 24'000) continue;
    if (truth.value(goal()) <= dearest) continue;
    dearest = truth.value(goal());
    world_.problem().observations = {truth};
  }
  ASSERT_GT(dearest / least(), 1.15) << "far from the best";
  std::vector<double> regrets;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Learning learning = learn(60, seed);
    double regret = 0;
    for (const double excess : learning.excess) regret += std::max(0.0, excess) / 60;
    regrets.push_back(regret);
  }
  std::sort(regrets.begin(), regrets.end());
  EXPECT_LT(regrets[2], 0.3) << "in the mean of 60 measurements, median of the seeds";
}

// What the board does not take says nothing of power, with a cap or without one: what is beside it
// is looked at as before.
TEST_P(Descent, ARefusedSettingIsNoWallOfPower) {
  goal().energy_weight = 0.5;
  for (const bool capped : {false, true}) {
    goal().power_mw.reset();
    if (capped) goal().power_mw = 60'000;
    const auto settings_seen = [&](std::int64_t refused_cores) {
      refused_cores_ = refused_cores;
      std::set<std::string> seen;  // by seed
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        for (const Setting& one : learn(200, seed).measured) {
          if (one.mode.values[0] == 12) seen.insert(std::to_string(seed) + ' ' + setting_text(one));
        }
      }
      return seen.size();
    };
    const std::size_t free = settings_seen(-1);
    EXPECT_GE(settings_seen(8), free * 3 / 4) << (capped ? "60 W" : "no cap");
  }
}

// What is held is most of the measurements, so their median; the rest is what looks add: 0.5 % of
// the cost at the hundredth measurement and ever less from there on, 0.31 % in the mean.
TEST_P(Descent, DearLooksAreRare) {
  for (const double weight : {0.0, 0.5, 1.0}) {
    goal().energy_weight = weight;
    double added = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      std::vector<double> late = learn(500, seed).excess;
      late.erase(late.begin(), late.begin() + 100);
      ASSERT_EQ(late.size(), 400u);
      const double mean = std::accumulate(late.begin(), late.end(), 0.0) / 400;
      std::nth_element(late.begin(), late.begin() + 200, late.end());
      added += (mean - late[200]) / 5;
    }
    EXPECT_LT(added, 0.0035) << "energy weight " << weight;
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts, Descent, testing::Values("ogd.lua"),
                         [](const auto&) { return "ogd"; });

// A job that recurs has one knob, the power limit. The modes of a board with more are not tried one
// after another from the dearest down.
TEST(ThompsonScript, DoesNotGoDownThroughAllModesForATarget) {
  OrinProblem problem;
  problem.trainer.batch_size_count = 2;
  problem.trainer.batch_sizes = {8, 16};
  for (const std::int64_t gpu : problem.knobs.knobs[2].values) {
    for (const std::int64_t cpu : problem.knobs.knobs[1].values) {
      problem.modes.push_back({{12, cpu, gpu, 3'199'000}, 4});
    }
  }
  problem.goal.objective = Objective::target;
  problem.goal.priced_power_mw = 20'000;
  problem.goal.power_mw = 15'000;
  const BoardModel board = *built_in_board_model("jetson-agx-orin");
  const ProfileWorld world = problem.world(board);
  LuaPolicy policy("thompson.lua", script_text("thompson.lua"), board);
  Request request = policy.start(problem.context());
  int over = 0;
  for (int i = 0; i < 30 && request.what == Request::What::remeasure; ++i) {
    Observation answer = world.truth(request.setting);
    if (!answer.within(15'000)) {
      ++over;
      answer = cut_short(request.setting, Outcome::over_limit);
      answer.limit_mw = 15'000;
    }
    request = policy.resume(answer);
  }
  EXPECT_EQ(policy.failure(), "");
  EXPECT_LE(over, 15) << "of 30";
}

TEST(ThompsonScript, HoldsTheOnlySettingWhereNothingCanBeSet) {
  PolicyProblem problem;
  problem.knobs.knobs.clear();
  problem.modes = {PowerMode{}};
  problem.trainer.batch_size_count = 0;
  for (const char* name : {"thompson.lua", "ogd.lua"}) {
    LuaPolicy policy(name, script_text(name));
    Request request = policy.start(problem.context());
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(request.what, Request::What::remeasure) << name << ' ' << i << policy.failure();
      request = policy.resume(complete(request.setting, 10, 20));
    }
  }
}

}  // namespace
}  // namespace gearshift

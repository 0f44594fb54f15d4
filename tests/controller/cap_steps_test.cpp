// Which caps a policy has in steps: those that move by themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/controller.h"
#include "tests/fakes/low_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

// From so long after the start on.
struct Said {
  Duration after{};
  Limit limit;
};

class SaidLimit : public LimitSource {
 public:
  explicit SaidLimit(std::vector<Said> said, std::string_view name = "battery")
      : said_(std::move(said)), name_(name) {}
  std::string_view name() const override { return name_; }
  void consume(const Event&) override {}
  Limit limit(Time now) override {
    Limit newest;
    for (const Said& one : said_) {
      if (now >= Time{} + one.after) newest = one.limit;
    }
    return newest;
  }

 private:
  std::vector<Said> said_;
  std::string_view name_;
};

Limit moving(std::int64_t power_mw) { return {.power_mw = power_mw, .moves = true}; }

// The caps that the policy was started with.
std::vector<std::optional<std::int64_t>> goals_under(std::vector<Said> said,
                                                     std::optional<std::int64_t> chosen_mw) {
  LowRig rig(then_hold({kSlow}, kSlow), seconds(60), chosen_mw);
  rig.world.attach(seconds(1));
  SaidLimit second(std::move(said));
  LimitSource* limits[] = {&rig.limit, &second};
  Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
  std::vector<std::optional<std::int64_t>> goals;
  for (const Goal& goal : rig.policy.goals) {
    if (goals.empty() || goals.back() != goal.power_mw) goals.push_back(goal.power_mw);
  }
  return goals;
}

using Goals = std::vector<std::optional<std::int64_t>>;

TEST(CapSteps, OneThatSomebodyChoseIsExact) {
  for (const std::int64_t cap_mw : {26'330, 10'999, 12'345}) {
    EXPECT_EQ(goals_under({}, cap_mw), Goals{cap_mw});
    EXPECT_EQ(goals_under({{seconds(0), {.power_mw = cap_mw}}}, std::nullopt), Goals{cap_mw});
  }
}

TEST(CapSteps, ATremblingOneDoesNotRestartThePolicy) {
  const std::vector<Said> trembles = {
      {seconds(0), moving(30'400)}, {seconds(30), moving(30'300)}, {seconds(35), moving(30'450)}};
  EXPECT_EQ(goals_under(trembles, std::nullopt), Goals{30'000});
  EXPECT_EQ(goals_under(trembles, 40'123), Goals{30'000});
}

TEST(CapSteps, TheSourceOfTheLeastSaysWhetherItMoves) {
  EXPECT_EQ(goals_under({{seconds(0), moving(30'400)}}, 30'399), Goals{30'399});
  EXPECT_EQ(goals_under({{seconds(0), moving(30'399)}}, 30'400), Goals{30'000});
  // The same power, which only the other one says from then on.
  const std::vector<Said> leaves = {{seconds(0), {.power_mw = 30'400, .moves = true}},
                                    {seconds(30), {.power_mw = 30'400}}};
  EXPECT_EQ(goals_under(leaves, std::nullopt), (Goals{30'000, 30'400}));
}

// Who the notes say that a cap of 30 W is of, one after the other, under the operator's and two
// other limits.
std::vector<std::string> told_sources(std::vector<Said> first, std::vector<Said> second,
                                      std::optional<std::int64_t> chosen_mw) {
  LowRig rig(then_hold({kSlow}, kSlow), seconds(60), chosen_mw);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(30), 0);  // the operator's, if there is one, is lifted
  SaidLimit thermal(std::move(first), "thermal");
  SaidLimit battery(std::move(second), "battery");
  LimitSource* limits[] = {&rig.limit, &thermal, &battery};
  Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
  std::vector<std::string> sources;
  for (const KeptNote& note : rig.recorder.of(NoteType::goal)) {
    EXPECT_EQ(note.value, 30'000);
    sources.push_back(note.text);
  }
  EXPECT_EQ(rig.policy.starts, 1) << "nothing is to be searched anew";
  return sources;
}

using Sources = std::vector<std::string>;

TEST(CapSource, OfTheSamePowerIsToldWhereSomebodyChoseIt) {
  const std::vector<Said> chosen = {{seconds(0), {.power_mw = 30'000}}};
  EXPECT_EQ(told_sources({}, chosen, 30'000), (Sources{"operator", "battery"}));
  const std::vector<Said> moves = {{seconds(0), moving(30'000)}};
  EXPECT_EQ(told_sources({}, moves, 30'000), (Sources{"operator", "battery"}));
  const std::vector<Said> comes = {{seconds(40), {.power_mw = 30'000}}};
  EXPECT_EQ(told_sources(comes, moves, std::nullopt), (Sources{"battery", "thermal"}));
}

TEST(CapSource, OfTheSamePowerIsNotToldWhereBothMoveByThemselves) {
  std::vector<Said> turns;
  for (int second = 0; second < 60; second += 2) {
    turns.push_back({seconds(second), moving(30'000)});
    turns.push_back({seconds(second + 1), moving(31'000)});
  }
  EXPECT_EQ(told_sources(turns, {{seconds(0), moving(30'000)}}, std::nullopt), Sources{"thermal"});
}

TEST(CapSteps, AreOfTwoPercentAndOfHalfAWattAtMost) {
  EXPECT_EQ(cap_step_mw(60'000), 500);
  EXPECT_EQ(cap_step_mw(25'000), 500);
  EXPECT_EQ(cap_step_mw(24'999), 250);
  EXPECT_EQ(cap_step_mw(10'000), 100);
  EXPECT_EQ(cap_step_mw(3'400), 50);
  EXPECT_EQ(cap_step_mw(1), 1);
  for (std::int64_t mw = 1; mw < 60'000; ++mw) {
    EXPECT_EQ(cap_step_down(cap_step_up(mw)), cap_step_up(mw)) << mw;
    EXPECT_GE(cap_step_up(mw), mw);
    EXPECT_LE(cap_step_down(mw), mw);
    EXPECT_GE(cap_step_down(mw), std::min(mw, mw - mw / 50)) << mw;
  }
}

}  // namespace
}  // namespace gearshift

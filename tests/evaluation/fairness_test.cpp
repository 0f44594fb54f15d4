// A policy meets nothing of the table it is judged on but what it measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "controller/profile.h"
#include "limits/operator_limit.h"
#include "policies/lua/lua_policy.h"
#include "simulator/simulation.h"
#include "tests/fakes/nearest_transfer.h"

namespace gearshift {
namespace {

// 180 modes of a made-up board, with bumps, so that no two cells are alike.
Profile bumpy_profile() {
  KnobSpace space;
  space.knobs = {
      {"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8, 12}},
      {"cpu_mhz", Unit::khz, KnobClass::clock, {500'000, 1'000'000, 1'500'000, 2'000'000}},
      {"gpu_mhz", Unit::khz, KnobClass::clock, {300'000, 500'000, 700'000, 900'000, 1'300'000}},
      {"mem_mhz", Unit::khz, KnobClass::memory, {600'000, 2'000'000, 3'000'000}}};
  Profile profile(space);
  profile.device = "made-up";
  profile.workload = "bumpy";
  double bump = 0;
  for (const std::int64_t cores : space.knobs[0].values) {
    for (const std::int64_t cpu : space.knobs[1].values) {
      for (const std::int64_t gpu : space.knobs[2].values) {
        for (const std::int64_t mem : space.knobs[3].values) {
          bump = std::fmod(bump + 0.618, 1.0);
          const double c = static_cast<double>(cores), f = 1e-6 * static_cast<double>(cpu),
                       g = 1e-6 * static_cast<double>(gpu), m = 1e-6 * static_cast<double>(mem);
          profile.add({.mode = {{cores, cpu, gpu, mem}, 4},
                       .batch_size = 16,
                       .minibatch_ms = 20 + 30 / g + 20 / (f * std::sqrt(c)) + 10 / m + 4 * bump,
                       .power_w = 8 + 0.8 * c * f + 14 * g + 1.5 * m + bump,
                       .epoch_s = {}});
        }
      }
    }
  }
  return profile;
}

SimulationResult search(const Profile& profile, const std::string& name, const std::string& text,
                        std::int64_t cap_mw) {
  const ProfileCosts costs(profile, Missing::refuse);
  SimulatedTask task;
  task.name = profile.workload;
  task.kind = profile.kind;
  task.batch_sizes = profile.batch_sizes();
  task.batch_size = task.batch_sizes.front();
  task.costs = &costs;
  SimulationProblem problem;
  problem.board = profile.device;
  problem.knobs = profile.knobs();
  problem.tasks = {task};
  problem.goal.power_mw = cap_mw;
  problem.most_measurements = 200;  // more than there are modes; some scripts never end
  const NearestTransfer transfer;
  LuaPolicy policy(name, text, std::nullopt, &transfer);
  OperatorLimit limit(cap_mw);
  return simulate(problem, policy, limit);
}

// The same modes; the costs of those that `stays` does not name change places.
template <typename Stays>
Profile permuted(const Profile& profile, std::uint64_t seed, Stays stays) {
  std::vector<ProfileCell> moving;
  for (const ProfileCell& cell : profile.cells()) {
    if (!stays(cell)) moving.push_back(cell);
  }
  std::mt19937_64 random(seed);
  for (std::size_t i = moving.size(); i > 1; --i) std::swap(moving[i - 1], moving[random() % i]);
  Profile other(profile.knobs());
  other.device = profile.device;
  other.workload = profile.workload;
  for (ProfileCell cell : profile.cells()) {
    if (!stays(cell)) {
      cell.minibatch_ms = moving.back().minibatch_ms;
      cell.power_w = moving.back().power_w;
      moving.pop_back();
    }
    other.add(cell);
  }
  return other;
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> scripts() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(GEARSHIFT_SOURCE_DIR) / "scripts")) {
    const std::string name = entry.path().filename();
    if (name != "fixed.lua") found.push_back(entry.path());  // it is of another board
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Fairness, WhatWasNotMeasuredChangesNoDecision) {
  const Profile profile = bumpy_profile();
  for (const std::filesystem::path& path : scripts()) {
    const std::string name = path.filename();
    const std::string text = text_of(path);
    for (const std::int64_t cap_mw : {20'000, 30'000}) {
      const SimulationResult first = search(profile, name, text, cap_mw);
      ASSERT_EQ(first.policy_error, "") << name;
      const auto was_tried = [&](const ProfileCell& cell) {
        return cell.mode == first.setting.mode || cell.mode == profile.knobs().lowest() ||
               std::any_of(first.measured.begin(), first.measured.end(),
                           [&](const Setting& setting) { return setting.mode == cell.mode; });
      };
      const SimulationResult again = search(permuted(profile, 5, was_tried), name, text, cap_mw);
      EXPECT_EQ(again.measured, first.measured) << name << " at " << cap_mw << " mW";
      EXPECT_EQ(again.setting, first.setting) << name << " at " << cap_mw << " mW";
      EXPECT_EQ(again.ending, first.ending) << name << " at " << cap_mw << " mW";
    }
  }
}

TEST(Fairness, AFirstQuestionKnowsNothingOfTheTable) {
  const Profile profile = bumpy_profile();
  // A board whose lowest mode is over the cap measures nothing: that mode stays.
  const Profile other = permuted(
      profile, 9, [&](const ProfileCell& cell) { return cell.mode == profile.knobs().lowest(); });
  int different = 0;
  for (const std::filesystem::path& path : scripts()) {
    const std::string name = path.filename();
    const SimulationResult one = search(profile, name, text_of(path), 25'000);
    const SimulationResult two = search(other, name, text_of(path), 25'000);
    ASSERT_FALSE(one.measured.empty() || two.measured.empty()) << name;
    EXPECT_EQ(one.measured.front(), two.measured.front()) << name;
    if (one.measured != two.measured) ++different;
  }
  EXPECT_GT(different, 0);  // what is measured does decide: the tests above can fail
}

}  // namespace
}  // namespace gearshift

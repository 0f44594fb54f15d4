// A small measured table, grids over it and a runner without a simulator, for tests of evaluation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evaluation/grid.h"
#include "evaluation/trial.h"
#include "tests/evaluation/problems.h"

namespace gearshift {

// Two core counts and three GPU clocks; more of either is faster and draws more.
inline Profile small_profile(Kind kind = Kind::train,
                             const std::vector<std::int32_t>& batches = {16}) {
  KnobSpace space;
  space.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8}},
                 {"gpu_mhz", Unit::khz, KnobClass::clock, {306'000, 624'750, 1'300'500}}};
  Profile profile(space);
  profile.device = "small-board";
  profile.workload = "lenet";
  profile.kind = kind;
  for (const std::int32_t batch : batches) {
    for (std::size_t core = 0; core < 2; ++core) {
      for (std::size_t gpu = 0; gpu < 3; ++gpu) {
        const auto speed = static_cast<double>((core + 1) * (gpu + 1));
        profile.add({.mode = {{space.knobs[0].values[core], space.knobs[1].values[gpu]}, 2},
                     .batch_size = batch,
                     .minibatch_ms = 60.0 * batch / 16 / speed,
                     .power_w = 10 + 4 * speed,
                     .epoch_s = {}});
      }
    }
  }
  return profile;
}

inline Setting setting_of(const ProfileCell& cell, Kind kind) {
  Setting setting;
  setting.mode = cell.mode;
  setting.batch_size[index(kind)] = cell.batch_size;
  setting.run = kind == Kind::train ? Run::train : Run::infer;
  return setting;
}

// One policy, one workload, caps of 10 to 40 W in steps of 2 W, two seeds. `profile` is borrowed.
inline Grid small_grid(const Profile& profile) {
  Grid grid;
  grid.policies = {{"first", "return nil", "first.lua"},
                   {"second", "return modes[1]", "second.lua"}};
  grid.workloads.push_back({profile.workload, OptimumTable(profile)});
  for (std::int64_t cap_w = 10; cap_w <= 40; cap_w += 2) {
    grid.problems.push_back(train_problem(1000 * cap_w));
  }
  grid.seeds = {1, 2};
  return grid;
}

// Holds some cell of the profile that depends on everything a case says.
inline RunCase any_cell(const Grid& grid) {
  return [&grid](const Case& one) {
    const Profile& profile = grid.workloads[one.workload].optimum.profile();
    const std::size_t which =
        (7 * one.policy + 3 * one.problem + one.seed) % profile.cells().size();
    Trial trial;
    trial.held = setting_of(profile.cells()[which], profile.kind);
    trial.modes_profiled = static_cast<std::uint32_t>(one.problem % 5 + 1);
    trial.over_cap_j = 0.1 * static_cast<double>(one.problem);
    return trial;
  };
}

}  // namespace gearshift

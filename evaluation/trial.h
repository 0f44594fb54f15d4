// What a policy did with one case, in facts that need no judgement.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/setting.h"
#include "evaluation/grid.h"

namespace gearshift {

struct Trial {
  Setting held;                       // in force at the end
  bool infeasible = false;            // no setting was chosen, and the safe one is held
  std::uint32_t modes_profiled = 0;   // distinct settings measured
  std::uint32_t probes_over_cap = 0;  // of them, those whose true power is over the limit
  // Of the settings tried, those without a measured cell, by what became of them.
  std::uint32_t filled_nearest = 0;
  std::uint32_t filled_model = 0;
  std::uint32_t refused = 0;
  double over_cap_j = 0;  // watt-seconds over the limit, by true power
  double search_s = 0;    // virtual time until the last setting was held
  double search_j = 0;    // and the energy it took
  std::string failure;    // of the policy's script; empty where it did not fail
  // Online problems only: every measurement in order, by the index of its cell in the profile. It
  // ends early where the policy has made up its mind: `held` is all that would follow.
  std::vector<std::uint32_t> sequence{};
  std::uint32_t power_modes = 0;  // concurrent problems only: distinct modes among those measured
  std::uint32_t drifts = 0;       // how often the world was found to have changed
  // That the run measured a weighted goal against at its end; nullopt: it measured none.
  std::optional<Setting> reference{};
};

// Runs one case from an empty memory in a fresh state. Called on several threads at once; the same
// case gives the same trial on each.
using RunCase = std::function<Trial(const Case&)>;

}  // namespace gearshift

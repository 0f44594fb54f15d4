// One random scenario of the swarm: a board, its workloads, a policy, a cap that steps, and faults;
// everything from one seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "controller/policy.h"
#include "limits/schedule_limit.h"
#include "simulator/simulation.h"

namespace gearshift::swarm {

struct Scenario {
  std::vector<std::unique_ptr<Profile>> profiles;
  std::vector<std::unique_ptr<CostSource>> costs;
  SimulationProblem problem;
  std::vector<ScheduleStep> caps;
  std::string policy_name;
  std::unique_ptr<Policy> policy;
};

// How long faults and caps come for; then the search has time to come to its end.
inline constexpr Duration kTrouble = std::chrono::minutes(8);

// Scripts are read from the folder `scripts`. The same seed makes the same scenario; of a longer
// trouble the first eight minutes are not those of a shorter one.
Scenario make_scenario(std::uint64_t seed, const std::string& scripts, Duration trouble = kTrouble);

// What was wrong, in words; empty where every invariant held after every step.
struct ScenarioResult {
  std::vector<std::string> violations;
  SimulationResult result;
  double longest_over_cap_s = 0;  // by more than the tolerance, while the guard could see it
  std::string log;                // every note, a line each
  std::size_t faults = 0;         // that were planned
  std::size_t told = 0;           // of those that a watch can tell to have been reported in time
  bool rested = false;            // workloads waited part of the time for long enough to be judged
};
ScenarioResult run_scenario(std::uint64_t seed, const std::string& scripts,
                            Duration trouble = kTrouble);

}  // namespace gearshift::swarm

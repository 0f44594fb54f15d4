// What a run has come to: what was chosen, and how often what happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/clock.h"
#include "controller/goal.h"
#include "controller/observation.h"
#include "controller/setting.h"

namespace gearshift {

// What was chosen under one cap for one goal, whether or not it could be held.
struct Choice {
  std::int64_t cap_mw = 0;  // 0: none
  Goal goal;                // as the policy had it
  Setting setting;
  std::optional<Observation> observation;  // nullopt until the setting has been measured
  std::optional<Setting> held_instead{};   // where a limit did not leave it
};

struct Summary {
  // A cap may change twice a minute for months.
  static constexpr std::size_t kMostChoices = 256;

  Duration duration{};
  std::vector<Choice> choices;  // one a cap and goal, the newest of each and of them all, in order
  std::uint32_t measurements = 0;
  std::optional<std::int64_t> baseload_mw;  // mean idle power before the first workload came
  std::uint32_t policy_errors = 0;
  std::uint32_t guard_steps = 0;    // how often the guard stepped in
  std::uint32_t latency_steps = 0;  // how often requests were late, or nearly, and it was acted on
  std::uint32_t drifts = 0;         // how often the world was found to have changed
  Goal goal;                        // at the end

  // In the place of the newest choice, where that was under the same cap for the same goal.
  void keep(const Choice& choice);
};

inline void Summary::keep(const Choice& choice) {
  const auto same = [&](const Choice& one) {
    return one.cap_mw == choice.cap_mw && one.goal.objective == choice.goal.objective &&
           one.goal.energy_weight == choice.goal.energy_weight;
  };
  if (!choices.empty() && same(choices.back())) choices.pop_back();
  if (choices.size() == kMostChoices) choices.erase(choices.begin());
  choices.push_back(choice);
}

}  // namespace gearshift

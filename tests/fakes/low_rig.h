// A rig that starts in the lowest mode, for tests of what the loop does about power.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tests/fakes/rig.h"

namespace gearshift::fakes {

// Starts in the lowest mode, so that nothing is over a cap before the policy has asked.
struct LowRig : Rig {
  LowRig(ListPolicy::Decide decide, Duration end, std::optional<std::int64_t> cap_mw)
      : Rig(std::move(decide), end, cap_mw) {
    hardware.values = {1, 300000};
  }
};

// Measures each mode, then holds `choice` blindly.
inline ListPolicy::Decide then_hold(const std::vector<PowerMode>& modes, const PowerMode& choice) {
  return [modes, choice](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.size() < modes.size() ? measure(modes[answers.size()]) : hold(choice);
  };
}

}  // namespace gearshift::fakes

// The part of a profile whose knobs have some of their values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/profile.h"

namespace gearshift {

// The values of one knob that stay, in the knob's own integer unit.
struct KeptValues {
  std::string knob;
  std::vector<std::int64_t> values;
};

// The cells that have kept values in every knob named. Throws std::runtime_error that names the
// knob or value the profile does not have, and what it has.
Profile sub_grid(const Profile& profile, std::span<const KeptValues> kept);

}  // namespace gearshift

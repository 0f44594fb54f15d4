// The part of a profile whose knobs have some of their values.
#pragma once

#include "controller/profile.h"

namespace gearshift {

// The cells whose modes are in `kept`, which has the profile's knobs, each with some of its values.
// Throws std::runtime_error where there is none.
Profile sub_grid(const Profile& profile, const KnobSpace& kept);

}  // namespace gearshift

// Whether a profile's file and the board at hand speak of the same knobs.
#pragma once

#include <string>

#include "controller/profile.h"

namespace gearshift {

// The knobs by name and unit, "gpu_mhz in MHz, cpu_cores"; "no knob" where there is none.
std::string knob_list(const KnobSpace& space);

// The same names and units, in whatever order.
bool same_knobs(const KnobSpace& one, const KnobSpace& other);

// The profile with its knobs in the board's order, which a file does not keep; as it is where its
// knobs are not those of the board.
Profile in_order_of(const KnobSpace& board, const Profile& profile);

}  // namespace gearshift

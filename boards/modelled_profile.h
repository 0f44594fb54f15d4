// A profile that nobody measured: what the board model says of every setting of a grid.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "boards/board_description.h"
#include "controller/profile.h"

namespace gearshift {

// Every mode of `knobs`, the least power first, with each batch size in turn. What the board has
// beside `knobs` counts as at its highest. Throws std::invalid_argument where the board has no
// model, and std::length_error for more than kMaxModes modes.
Profile modelled_profile(const BoardDescription& board, const KnobSpace& knobs,
                         const std::string& name, const WorkloadParameters& workload,
                         std::span<const std::int32_t> batch_sizes);

}  // namespace gearshift

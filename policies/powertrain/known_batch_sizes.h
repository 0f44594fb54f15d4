// Which batch sizes a predictor's networks can tell apart, by what they learnt from.
#pragma once

#include <cstdint>
#include <string>

#include "policies/powertrain/predictor.h"

namespace gearshift {

// Without an input for it all batch sizes are one to the networks, and those that they learnt from
// count; with one, all from the smallest to the largest, of its own and of its reference's: a
// transferred model may know more from its reference than it was measured with.
bool knows_batch_size(const Predictor& predictor, std::int32_t size);

// "8 to 32, and 16 to 64 from its reference", "16 alone".
std::string known_batch_sizes(const Predictor& predictor);

}  // namespace gearshift

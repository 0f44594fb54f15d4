// What a run holds and why, in words and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "controller/clock.h"
#include "controller/knob.h"
#include "controller/rationale.h"

namespace gearshift {

// Several lines; of what was tried the `most_tried` best first. `now` is the run's own time.
std::string rationale_text(const KnobSpace& space, const Rationale& rationale, Time now,
                           std::size_t most_tried);
// One object; all that was tried, in the order it was measured.
std::string rationale_json(const KnobSpace& space, const Rationale& rationale, Time now);

}  // namespace gearshift

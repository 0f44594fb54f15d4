// What a run holds and why, in words and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "controller/clock.h"
#include "controller/knob.h"
#include "controller/rationale.h"

namespace gearshift {

// Several lines; of what was tried the `most_tried` best first. `now` is the run's own time.
std::string rationale_text(const KnobSpace& space, const Rationale& rationale, Time now,
                           std::size_t most_tried);

// What is known of a measurement: all of it, as from a recording, or what a daemon's answer has
// room for (bridge/PROTOCOL.md).
enum class Known : std::uint8_t { all, answered };

// One object; all that was tried, in the order it was measured. What is not known is null.
std::string rationale_json(const KnobSpace& space, const Rationale& rationale, Time now,
                           Known known);

}  // namespace gearshift

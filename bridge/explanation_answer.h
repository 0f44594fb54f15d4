// The answer to an explain request: a page of a run's rationale, and the pages put together again.
#pragma once

#include <cstdint>
#include <string_view>

#include "bridge/protocol.h"
#include "controller/knob.h"
#include "controller/rationale.h"

namespace gearshift::wire {

// As an operator's program reads it: the rationale at `now`, the daemon's own time.
struct ExplanationAnswer {
  KnobSpace knobs;  // names and units, without their values
  Rationale rationale;
  Time now{};
  std::uint32_t total = 0;  // settings that were tried; rationale has those of the pages read
};

// One page, with the head and the settings from number `from` on, as many as fit in a frame.
void pack(FrameBuffer& buffer, const Rationale& rationale, const KnobSpace& knobs, Time now,
          std::uint32_t from);

// Adds a page to `answer`; the first one fills in its head. False where it was the last. Throws
// std::runtime_error saying what is wrong with the frame, or with the daemon's own words where it
// is an error.
bool add_explanation(std::string_view frame, ExplanationAnswer& answer);

}  // namespace gearshift::wire

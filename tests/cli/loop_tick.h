// A tick of the loop as notes about a limit see it.
#pragma once

#include <span>

#include "controller/limit_source.h"
#include "controller/recorder.h"

namespace gearshift {

// Readings to the notes and to their limit, which then speaks, and the status.
template <typename Limit>
void loop_tick(Recorder& notes, Limit& limit, Time now, std::span<const Reading> readings) {
  notes.tick({now, {}, readings});
  for (const Reading& reading : readings) limit.read(reading);
  limit.limit(now);
  Status status;
  status.time = now;
  notes.status(status);
}

}  // namespace gearshift

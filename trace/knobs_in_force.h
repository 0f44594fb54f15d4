// What a board's knobs were at while something ran, told from what they were asked and answered.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "controller/clock.h"
#include "controller/knob.h"
#include "trace/recording.h"

namespace gearshift {

// Believes what knobs read back, never what was wanted of them: a board throttles, a knob refuses,
// another program writes. The board reads all of them before it writes and after, and in each tick
// while a mode is held; a recording has only the answers that differ from the one before. While
// cores come or go, a tick each, nothing is known, nor while a mode waits for lighter batches: then
// none is read.
class KnobsInForce {
 public:
  // In the knobs' units, in the order of the knob space; nullopt where one cannot be read.
  using Values = std::array<std::optional<std::int64_t>, kMaxKnobs>;

  // `format` of the recording: those before 4 do not say when in a tick a knob was written.
  explicit KnobsInForce(std::int64_t format) : times_writes_(format >= 4) {}

  // Every tick in its order, each before what its minibatches ran with is asked for.
  void see(const RecordedTick& tick);
  // What was in force all the time from `begin` to `end`, which is not after the newest tick.
  // nullptr where a knob moved in between, or may have, and before the first one was read. Valid
  // until the next tick.
  const Values* during(Time begin, Time end) const;

 private:
  struct Stretch {
    Time from;
    Time until;
    Values values;
  };
  void end_at(Time time);
  void begin_at(Time time);

  bool times_writes_;
  Values answered_{};
  std::deque<Stretch> stretches_;  // oldest first; until Time::max(): it goes on
  bool moving_ = false;            // cores come or go
  bool unread_ = false;            // a mode waits
  bool begins_ = false;            // a stretch, with the next tick
  Time newest_{};                  // tick
};

}  // namespace gearshift

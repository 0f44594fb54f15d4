// The knobs of a simulated board: what was written, what came of it, and modes that do not apply.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "controller/actuator.h"
#include "controller/knob.h"
#include "simulator/effects.h"

namespace gearshift {

// A change is judged when it is read back, as Board does behind its last write: until then the mode
// is some mixture of old and new. One that does not exist is taken back and, when it is written a
// second time, refused.
class SimulatedKnobs {
 public:
  // Whether the mode exists; what() of the refusal is left to the knobs.
  using Exists = std::function<bool(const PowerMode&)>;

  // Begins in the mode `first`, which is never refused: a board can always go back to it.
  SimulatedKnobs(KnobSpace space, const PowerMode& first, const Effects& effects,
                 std::uint64_t seed, Exists exists);

  const KnobSpace& space() const { return space_; }
  // See Actuator.
  Progress write(std::size_t knob, std::int64_t value);
  std::int64_t read(std::size_t knob);
  // Back to the mode it began in, whatever is under way.
  void restore();
  // In force now; not in the space while cores come and go.
  const PowerMode& mode() const { return mode_; }
  // Whether the mode is one of those that do not apply. The one the board began in does.
  bool unapplied(const PowerMode& mode) const;

 private:
  void judge();

  const KnobSpace space_;
  const Effects effects_;
  const std::uint64_t seed_;
  const Exists exists_;
  const PowerMode first_;
  PowerMode mode_;    // in force
  PowerMode asked_;   // as written
  PowerMode before_;  // the last that applied
  bool judged_ = true;
  std::optional<PowerMode> rejected_;  // taken back; refused if it is written again
};

}  // namespace gearshift

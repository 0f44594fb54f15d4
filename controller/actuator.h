// Sets a board's knobs, and puts them back as they were found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/knob.h"

namespace gearshift {

// A write that failed: what() names the knob, the wanted and the actual value, and the way out.
struct KnobError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Progress : std::uint8_t {
  done,
  more,  // one write may be one step of several (hot-plug moves one core a call)
  away,  // nothing can be written now, and later it may be: who sets the knobs does not answer, say
};

// All knobs of one board. Takes and returns serialisable values only, so that a privileged helper
// can stand behind it. Every knob's raw text is saved before the first write.
class Actuator {
 public:
  virtual ~Actuator() = default;
  virtual const KnobSpace& knobs() const = 0;
  // Moves knob `knob` one step towards `value` (in the knob's unit). Throws KnobError.
  virtual Progress write(std::size_t knob, std::int64_t value) = 0;
  // When the newest write was made, to the middle of it; nullopt where none was, or where no time
  // passes between two waits of the loop.
  virtual std::optional<Time> wrote() const { return std::nullopt; }
  // The value in force as the board reports it, in the knob's unit; nullopt where it cannot be
  // told. Need not be one of the knob's values: an outside writer may have set anything.
  virtual std::optional<std::int64_t> read(std::size_t knob) = 0;
  // The process of that kind whose knobs these are from now on (host boards act on the trainer
  // itself); 0: none, and the one that it was is let go. Boards with hardware knobs ignore it.
  // Throws KnobError.
  virtual void manage(std::int32_t pid, Kind kind) = 0;
  // Puts every knob back from the journal. Throws KnobError naming each one that would not go.
  virtual void restore() = 0;
};

}  // namespace gearshift

// Judges and serves what a daemon without root asks of a board's knobs: nothing is applied that is
// not in the board's knob space.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/knob_protocol.h"
#include "boards/sysroot.h"
#include "controller/clock.h"

namespace gearshift {

// One client's, from its hello to its end.
class KnobSession {
 public:
  // Borrows all three. `root` is the board's, `machine` that of the machine whose processes clients
  // are. `board` is the board's id; `user` whose processes may be managed, all for root.
  KnobSession(BoardActuator& actuator, const Sysroot& root, const Sysroot& machine,
              std::string board, std::uint32_t user);

  // The answer; nullopt where none is due: a beat when nothing has changed. Never throws.
  std::optional<KnobAnswer> serve(const KnobRequest& request, Time now);
  // True once the client has asked that the knobs stay as they are when it goes.
  bool keeps() const { return keeps_; }
  // What was refused as outside the knob space or unasked for, one sentence; empty where nothing
  // was. Cleared by the call.
  std::string take_offence();

 private:
  KnobAnswer welcome(const KnobRequest& request);
  KnobAnswer write(const KnobRequest& request);
  KnobAnswer manage(const KnobRequest& request);
  KnobAnswer pin_fan();
  KnobAnswer restore();
  KnobAnswer offence(const std::string& text);
  void add_values(KnobAnswer& answer);

  BoardActuator& actuator_;
  const Sysroot& root_;
  const Sysroot& machine_;
  const std::string board_;
  const std::uint32_t user_;
  bool welcomed_ = false;
  bool keeps_ = false;
  std::array<std::optional<std::int64_t>, kMaxKnobs> told_{};
  Time answered_{};
  std::string offence_;
};

}  // namespace gearshift

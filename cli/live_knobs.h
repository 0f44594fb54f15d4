// The knobs of a live run: set by this process with a guardian process beside it, or, without
// root, by a helper.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "actuators/board_actuator.h"
#include "actuators/guardian.h"
#include "actuators/remote_actuator.h"
#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/actuator.h"
#include "controller/board.h"
#include "controller/clock.h"

namespace gearshift {

class LiveKnobs {
 public:
  // This process's own: forks the guardian, so before any thread exists. Borrows all three for
  // life. Throws as Guardian and BoardActuator do.
  LiveKnobs(const BoardDescription& board, Sysroot& root, const Clock& clock,
            const std::filesystem::path& journal);
  // Those of the helper that listens at `socket`. Throws as RemoteActuator does.
  LiveKnobs(const BoardDescription& board, Sysroot& root, const Clock& clock,
            const std::string& socket);
  // Puts back what was written where nobody took the actuator.
  ~LiveKnobs();

  const KnobSpace& knobs() const { return knobs_; }
  const std::vector<AbsentKnob>& absent() const { return absent_; }
  // What an earlier daemon's journal held and what became of it, one sentence each, for people. A
  // helper tells of its own.
  const std::vector<std::string>& leftover() const { return leftover_; }
  // The helper's, one line for people; empty where there is none.
  const std::string& helper() const { return helper_; }
  // Turns the fan to full speed until the knobs are put back. Before take().
  FanPin pin_fan();

  // The actuator, once: whoever has it keeps this object too, and for longer.
  std::unique_ptr<Actuator> take();
  // Readable when beat() has something to take; -1 where it never has.
  int descriptor() const { return remote_ == nullptr ? -1 : remote_->descriptor(); }
  // Once a tick, as the loop's wait has ended: shows that the loop goes on. What people should know
  // is returned, one sentence, empty where there is nothing.
  std::string beat(Time now);

  // After the loop. Empty where the safe mode is set when this returns, else why it is not.
  std::string set_safe(Board& board) const;
  // The knobs stay as they are when the actuator goes; the journal stays too.
  void keep() const;
  // After the knobs were put back: what people should know of it; empty where there is nothing.
  std::string take_complaint();
  // What could not be put back here the guardian tries, once this process has ended.
  void leave_to_guardian();

 private:
  Sysroot& root_;
  const Clock& clock_;
  std::unique_ptr<Guardian> guardian_;  // this process's; null with a helper
  std::unique_ptr<BoardActuator> own_;
  std::unique_ptr<RemoteActuator> others_;
  RemoteActuator* remote_ = nullptr;  // after take() too
  BoardActuator* local_ = nullptr;    // the same, of this process's own knobs
  KnobSpace knobs_;
  std::vector<AbsentKnob> absent_;
  std::vector<std::string> leftover_;
  std::string helper_;
  Time looked_{};  // at the journal
};

}  // namespace gearshift

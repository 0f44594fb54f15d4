// Turns a Jetson's fan to its fastest while a board is measured, so that heat slows nothing down.
#pragma once

#include <string>

#include "actuators/knob_journal.h"
#include "boards/sysroot.h"

namespace gearshift {

// Names device paths in code, because a fan is found by the kernel's own name for it and not by
// what board it is on. It is no knob, because no policy sets it; the journal puts it back as it
// does the knobs, after a SIGKILL too.
class FanPin {
 public:
  // Pins the fan where there is one that may be written, once `journal` has it on disk; the
  // journal's restore() unpins it. `root` is borrowed for life, `journal` for this call.
  FanPin(Sysroot& root, KnobJournal& journal);
  // One that another process has pinned, or not, and what it found: see duty_path() and finding().
  FanPin(Sysroot& root, std::string duty_path, std::string finding);
  // Leaves the fan alone and says why.
  FanPin(Sysroot& root, const std::string& why_not);

  // The file that tells whether it still is; empty where nothing is pinned.
  const std::string& duty_path() const { return duty_path_; }
  // One sentence for people: where the fan is, or why it is not pinned.
  const std::string& finding() const { return finding_; }
  // True when another program (nvfancontrol) has turned a pinned fan back.
  bool lost() const;

 private:
  bool pin(KnobJournal& journal, const std::string& switch_path, const char* manual,
           const std::string& duty_path);

  Sysroot* root_;
  std::string duty_path_;  // empty where nothing is pinned
  std::string finding_ = "fan: none found";
};

}  // namespace gearshift

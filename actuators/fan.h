// Turns a Jetson's fan to its fastest while a board is measured, so that heat slows nothing down.
#pragma once

#include <string>
#include <vector>

#include "boards/sysroot.h"

namespace gearshift {

// Names device paths in code, because a fan is found by the kernel's own name for it and not by
// what board it is on. It is no knob and not in the journal: a process that is killed leaves the
// fan at full speed, which does no harm and lasts until nvfancontrol or a reboot.
class FanPin {
 public:
  // Pins the fan where there is one that may be written. `root` is borrowed.
  explicit FanPin(Sysroot& root);
  // Puts the fan back as it was found.
  ~FanPin();
  FanPin(const FanPin&) = delete;
  FanPin& operator=(const FanPin&) = delete;

  // One sentence for people: where the fan is, or why it is not pinned.
  const std::string& finding() const { return finding_; }
  // True when another program (nvfancontrol) has turned it back meanwhile.
  bool lost() const;

 private:
  struct Saved {
    std::string path;
    std::string text;
  };
  bool pin(const std::string& switch_path, const char* manual, const std::string& duty_path);

  Sysroot& root_;
  std::vector<Saved> saved_;  // in the order they were written
  std::string duty_path_;
  std::string finding_ = "fan: none found";
};

}  // namespace gearshift

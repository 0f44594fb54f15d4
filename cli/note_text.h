// Words for people: settings, powers, observations and notes as one line of text.
#pragma once

#include <map>
#include <string>

#include "controller/battery.h"
#include "controller/controller.h"
#include "controller/knob.h"
#include "controller/recorder.h"

namespace gearshift {

std::string watts(std::int64_t power_mw);        // "29.8 W"; "20 mW" of what would read as none
std::string exact_watts(std::int64_t power_mw);  // "30 W", "25.25 W": as somebody gave it
// "30.0 W", "none" of 0, "0 W" and "the lowest mode's power" of what a limit source says in words.
std::string cap_text(std::int64_t cap_mw);

// "cpu_cores=12 cpu_mhz=2201.6 ... train_batch=16", and "run=train" where not both run; "the board
// as it is" where nothing of it is set.
std::string describe(const KnobSpace& space, const Setting& setting);

// "29.8 W, 61.2 ms a minibatch, 3.83 ms and 0.114 J a sample (12 minibatches)", or why it has none.
// Energy is as the goal counts it (Observation::energy_j).
std::string describe(const Observation& observation, const Goal& goal);

// "4.21 of 10.00 Wh, 11.40 V, 1.20 A out of it", what of it is known; "4.21 of 10.00 Wh (last read
// 95 s ago), ..." where the energy is older than a gauge that lives leaves it.
std::string describe(const Battery& battery, Duration age);

// Remembers workload names, because a detached note has only the handle, and the goal, because that
// of an observation has none.
class NoteText {
 public:
  explicit NoteText(const KnobSpace& space) : space_(space) {}
  // Empty for notes that people need not see one by one (a setting that begins to be applied).
  std::string line(const Note& note);
  // As the newest status has it.
  void follow(const Goal& goal) { goal_ = goal; }
  // True for notes that tell of something wrong.
  static bool warns(NoteType type);

 private:
  const KnobSpace& space_;
  Goal goal_;
  std::map<WorkloadHandle, std::string> names_;
};

// "measuring  cpu_cores=8 ... | 28.4 of 30.0 W | 63.1 ms": the live line.
std::string status_line(const KnobSpace& space, const Status& status);

}  // namespace gearshift

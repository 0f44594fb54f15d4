// How far a simulation is, on standard error, where it takes longer than a few seconds.
#pragma once

#include <optional>
#include <string>

#include "cli/progress_line.h"
#include "simulator/simulation.h"

namespace gearshift {

// "3:20:00/24:00:00 of virtual time, ETA 2:10" of a mission, which lasts for so long unless its
// battery does not; a search may end at any time, and has no more than that: "0:05 of at most
// 12:00:00 of virtual time".
std::string simulated_progress_text(Duration done, Duration most, bool mission, double elapsed_s);

class SimulatedProgress {
 public:
  explicit SimulatedProgress(const SimulationProblem& problem)
      : most_(problem.most_duration), mission_(problem.mission.has_value()) {}

  // To be told at the end of each tick.
  void observe(Time now);
  // Takes the line off a terminal.
  void end() const { line_.clear(); }

 private:
  Duration most_;
  bool mission_;
  ProgressLine line_;
};

}  // namespace gearshift

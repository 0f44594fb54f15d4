// Judges the board model by published numbers: what it predicts for each, or why it cannot.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "controller/profile.h"

namespace gearshift {

// One published number and what it was measured in, as a targets file has it (docs/board-model.md).
struct ModelTarget {
  std::string id;
  std::string device;    // a board's id or alias
  std::string workload;  // of that board, by name or alias; empty where the label says idle
  Kind kind = Kind::train;
  double batch_size = 0;
  std::optional<double> workers;
  std::optional<double> cpu_cores;  // of the mode, where it is given in numbers
  std::optional<double> cpu_mhz;
  std::optional<double> gpu_mhz;
  std::optional<double> mem_mhz;
  std::string sweep;  // the knob that took all its values, or empty
  std::string label;  // for people, and what is compared: "GPU compute: e over d"
  std::string metric;
  double value = 0;
  std::string unit;
  double tolerance = 0;  // relative: 0.05 is 5 %
};

// `predicted` in the target's unit, or none and `reason` says what the model lacks.
struct Judgement {
  std::optional<double> predicted;
  std::string reason;
};

// Within the target's tolerance. The judgement has a prediction.
bool within_tolerance(const ModelTarget& target, const Judgement& judgement);

// `profiles` lend their modes to targets over "all N modes", whose grid nothing else tells; the
// numbers measured there are not looked at.
Judgement judge(const ModelTarget& target, std::span<const BoardDescription> boards,
                std::span<const Profile> profiles);

}  // namespace gearshift

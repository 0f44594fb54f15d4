// The best setting of a virtual board for a workload under each power cap, by the board model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "boards/board_description.h"
#include "controller/goal.h"
#include "simulator/load.h"

namespace gearshift {

struct Optimum {
  PowerMode mode;
  std::int32_t batch_size = 0;
  double power_w = 0;
  double minibatch_ms = 0;

  double sample_ms() const { return minibatch_ms / batch_size; }
  double sample_mj() const { return power_w * sample_ms(); }
  double value(Objective objective) const {
    return objective == Objective::time ? sample_ms() : sample_mj();
  }
};

// Every mode of the board with every batch size, judged once and then asked again and again.
// Judging takes tens of milliseconds, and can be done in parts.
class ModelledOptimum {
 public:
  // The board must have a model; it and the workload outlive the object. `batch_sizes`: at least
  // one.
  ModelledOptimum(const BoardDescription& board, const WorkloadParameters& workload,
                  std::span<const std::int32_t> batch_sizes);

  // Judges some more, for a few milliseconds. True once all are judged.
  bool advance();

  // Of those judged, the best setting that draws no more than `cap_w`; nothing where all draw more.
  // Ties go to the one that draws least.
  std::optional<Optimum> best(Objective objective, double cap_w) const;

 private:
  void judge(const PowerMode& mode);

  const BoardDescription& board_;
  const WorkloadParameters& workload_;
  const KnobSpace space_;
  const std::vector<std::int32_t> batch_sizes_;
  std::size_t next_mode_ = 0;
  // The settings that beat every one that draws less, least power first.
  std::vector<Optimum> frontiers_[2];  // by Objective
};

// What /.virtual/optimum shows: caps of 10 to 60 W for each of the loads, computed once for each
// workload and its batch sizes.
class OptimumText {
 public:
  explicit OptimumText(const BoardDescription& board) : board_(board), space_(board.knob_space()) {}
  // Judges some of what text() needs, for a few milliseconds. True once nothing is left to judge.
  bool advance(const Loads& loads);
  // Judges all that is left.
  std::string text(const Loads& loads);

 private:
  ModelledOptimum& table_of(const Load& load);

  const BoardDescription& board_;
  const KnobSpace space_;
  // The last loads asked for, by what tells their tables apart.
  std::map<std::pair<const WorkloadParameters*, std::vector<std::int32_t>>, ModelledOptimum>
      tables_;
};

}  // namespace gearshift

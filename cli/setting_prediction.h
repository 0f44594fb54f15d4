// What the board's model says of the settings of the workload that runs, for `gearshift explain` to
// put beside what was measured.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "boards/board_description.h"
#include "controller/event.h"
#include "controller/rationale.h"
#include "simulator/cost_source.h"

namespace gearshift {

// Follows who is attached. Nothing is predicted of a workload that the model does not know, and of
// two that share the board: the model has each alone.
class SettingPrediction {
 public:
  // Borrows both.
  SettingPrediction(const BoardDescription& board, const KnobSpace& knobs)
      : board_(board), knobs_(knobs) {}

  void consume(const Event& event);
  std::optional<PredictedCost> predict(const Setting& setting) const;

 private:
  const BoardDescription& board_;
  const KnobSpace& knobs_;
  std::vector<Workload> managed_;
  std::unique_ptr<const ModelCosts> costs_;  // of the only one; null where there is none
};

}  // namespace gearshift

// The settings that a model is asked for: of a board, of a profile, or of what it learnt from.
#pragma once

#include <string>
#include <vector>

#include "controller/profile.h"
#include "policies/powertrain/training.h"

namespace gearshift {

struct PredictedGrid {
  std::string device;
  KnobSpace knobs;
  std::vector<PredictedSetting> settings;
};

// The settings of the profile, of whatever workload it is. Throws std::runtime_error where one has
// a batch size that the model knows nothing of: it would be told the time of another.
PredictedGrid grid_of_profile(const Profile& profile, const Predictor& predictor);
// Every mode of the board (an id or a file) with each batch size of the model. Throws
// std::runtime_error where a profile could not hold them, or there is no such board.
PredictedGrid grid_of_board(const std::string& board, const Predictor& predictor);
// Every combination of the knob values and batch sizes that the model learnt from. Throws
// std::runtime_error where there are too many.
PredictedGrid grid_of_model(const Predictor& predictor);

// What was measured is to be held against what the model predicts. Throws std::runtime_error where
// one is of training and the other of inference.
void require_same_kind(const Profile& measured, const Predictor& predictor);

}  // namespace gearshift

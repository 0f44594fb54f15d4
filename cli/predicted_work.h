// What the board's model expects of a workload in each setting, for plans that begin before
// anything was measured.
#pragma once

#include "boards/board_description.h"
#include "limits/battery_limit.h"

namespace gearshift {

// By the model of `board` for the workload's name and kind, over the modes of `knobs` and the batch
// sizes that it allows; nothing where the board has no model of it. Borrows both.
PredictWork predict_by_model(const BoardDescription& board, const KnobSpace& knobs);

// What the board draws in `mode` without work, W, by its model; 0 where it has none.
double modelled_pause_w(const BoardDescription& board, const KnobSpace& knobs,
                        const PowerMode& mode);

}  // namespace gearshift

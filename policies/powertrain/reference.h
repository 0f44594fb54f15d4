// The reference that ships with gearshift: what a transfer starts from where no other is given.
#pragma once

#include <string_view>

#include "policies/powertrain/predictor.h"

namespace gearshift {

// ResNet-18's training on an AGX Orin by the board model, in the 4,368 modes that PowerTrain
// profiled; nothing of it was measured. docs/powertrain.md has how it
// was made.
std::string_view shipped_reference_bytes();
// The same, read. Throws PredictorFileError where the program was built from a broken file.
Predictor shipped_reference();

}  // namespace gearshift

// Predictors as files: the length of a JSON header, the header, and the weights as 32-bit floats.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "policies/powertrain/predictor.h"

namespace gearshift {

// A larger file, or header, is refused.
inline constexpr std::size_t kMostPredictorBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMostPredictorHeaderBytes = std::size_t{256} << 10;

// What a file that cannot be used has: the file, the field, the value and what is expected.
struct PredictorFileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// `source` names the bytes in errors. Throws PredictorFileError.
Predictor parse_predictor(std::string_view bytes, std::string_view source);
// The bytes that parse_predictor reads back to an equal predictor. Throws PredictorFileError where
// a name is none that it would read. How they get to a file is the caller's business: this room
// writes none.
std::string format_predictor(const Predictor& predictor);

// Throws PredictorFileError.
Predictor read_predictor(const std::filesystem::path& path);

}  // namespace gearshift

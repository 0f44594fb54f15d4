// Which reference a transfer starts from: one that is named, the user's own, or gearshift's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "policies/powertrain/predictor.h"

namespace gearshift {

// Where `gearshift powertrain train` leaves a reference of the user's own: in this state folder, or
// the default one where it is empty. Throws std::runtime_error where there is no home folder.
std::filesystem::path own_reference_path(const std::string& state_folder);

// That path where a file is there; nullopt where none is, or there is no home folder.
std::optional<std::filesystem::path> own_reference(const std::string& state_folder);

struct Reference {
  std::string source;  // a path, or "gearshift's own"
  Predictor predictor;
};
// Of the file `path`; where that is empty of own_reference(), if it is there, else the one that
// ships with gearshift. Throws PredictorFileError.
Reference find_reference(const std::string& path, const std::string& state_folder);

}  // namespace gearshift

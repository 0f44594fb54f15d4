#include "cli/powertrain_reference.h"

#include <stdexcept>

#include "cli/state_folder.h"
#include "policies/powertrain/predictor_file.h"
#include "policies/powertrain/reference.h"

namespace gearshift {

std::filesystem::path own_reference_path(const std::string& state_folder) {
  return state_folder_of(state_folder) / "reference.model";
}

std::optional<std::filesystem::path> own_reference(const std::string& state_folder) {
  try {
    const std::filesystem::path own = own_reference_path(state_folder);
    if (std::filesystem::exists(own)) return own;
  } catch (const std::runtime_error&) {
    // Without a home folder nobody has one of his own.
  }
  return std::nullopt;
}

Reference find_reference(const std::string& path, const std::string& state_folder) {
  if (!path.empty()) return {path, read_predictor(path)};
  if (const auto own = own_reference(state_folder)) return {own->string(), read_predictor(*own)};
  return {"gearshift's own", shipped_reference()};
}

}  // namespace gearshift

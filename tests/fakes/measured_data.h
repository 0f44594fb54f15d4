// Where the files measured on real boards lie. They are no part of the repository, so a test that
// reads one is skipped where it is absent, and says why (CONTRIBUTING.md).
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gearshift {

// The folder that GEARSHIFT_MEASURED names, else ../shared/data beside the checkout. It may be
// absent.
inline std::filesystem::path measured_folder() {
  const char* const given = std::getenv("GEARSHIFT_MEASURED");
  if (given != nullptr && *given != '\0') return given;
  return std::filesystem::path(GEARSHIFT_SOURCE_DIR) / ".." / "shared" / "data";
}

// What a test says that is skipped for want of them; .ci/summary.py counts the tests by it.
inline std::string no_measured_data() {
  return "no measured data in " + measured_folder().lexically_normal().string() +
         "; GEARSHIFT_MEASURED names another folder";
}

}  // namespace gearshift

#include "cli/record_flag.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace gearshift {

void check_record_flag(const std::string& path, bool overwrites) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_regular_file(status)) {
    throw std::invalid_argument(
        fmt::format("--record {}: is no file, and is not replaced; give another name", path));
  }
  if (overwrites) return;
  throw std::invalid_argument(
      fmt::format("--record {}: the file is there already, and is not overwritten; give another "
                  "name, or --overwrite to replace it",
                  path));
}

void check_output_flag(const std::string& output, const std::string& input) {
  std::error_code missing;
  if (output.empty() || !std::filesystem::is_regular_file(input, missing)) return;
  if (!std::filesystem::equivalent(output, input, missing)) return;
  throw std::invalid_argument(fmt::format(
      "-o {}: is the file that is read, {}, and would be lost; give another name", output, input));
}

}  // namespace gearshift

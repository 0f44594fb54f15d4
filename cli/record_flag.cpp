#include "cli/record_flag.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "cli/output_files.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

void refuse(const std::string& path, const std::string& why) {
  throw std::invalid_argument(fmt::format("--record {}: {}", path, why));
}

}  // namespace

void check_record_flag(const std::string& path, bool overwrites) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool there = std::filesystem::exists(status);
  if (there && !std::filesystem::is_regular_file(status)) {
    refuse(path, "is no file, and is not replaced; give another name");
  }
  if (there && !overwrites) {
    refuse(path,
           "the file is there already, and is not overwritten; give another name, or --overwrite "
           "to replace it");
  }
  try {
    check_replaceable(path);
  } catch (const std::runtime_error& unwritable) {
    throw std::runtime_error(std::string("--record ") + unwritable.what());
  }
  const std::vector<std::string> files = recording_files(path);
  for (std::size_t i = 1; i < files.size(); ++i) {
    const auto beside = std::filesystem::symlink_status(files[i], error);
    if (!std::filesystem::exists(beside)) continue;
    if (!std::filesystem::is_regular_file(beside)) {
      refuse(path, files[i] + " is no file, and is not replaced; give another name");
    }
    if (overwrites) continue;
    refuse(path, files[i] +
                     " is there already, of a run that was killed, say, and is not overwritten; "
                     "give another name, or --overwrite to replace it");
  }
}

}  // namespace gearshift

#include "cli/record_flag.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "cli/output_files.h"
#include "trace/database.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

void refuse_file(const std::string& path, const std::string& why) {
  throw std::invalid_argument(fmt::format("--record {}: {}", path, why));
}

// What a run still writes is not thrown away: it would go on writing into a file without a name.
void check_unused(const std::string& path, const std::string& file) {
  const std::optional<DatabaseUser> user = user_of_database(file);
  if (!user) return;
  const std::string who =
      user->pid > 0 ? fmt::format("process {}", user->pid) : std::string("another program");
  refuse_file(path, fmt::format("{} has the file open, a run that goes on, say, and it is not "
                                "overwritten; end that first, or give another name",
                                who));
}

}  // namespace

void check_record_flag(const std::string& path, bool overwrites) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool there = std::filesystem::exists(status);
  if (there && !std::filesystem::is_regular_file(status)) {
    refuse_file(path, "is no file, and is not replaced; give another name");
  }
  if (there && !overwrites) {
    refuse_file(
        path,
        "the file is there already, and is not overwritten; give another name, or --overwrite "
        "to replace it");
  }
  try {
    check_replaceable(path);
  } catch (const std::runtime_error& unwritable) {
    throw std::runtime_error(std::string("--record ") + unwritable.what());
  }
  const std::vector<std::string> files = recording_files(path);
  if (there) check_unused(path, files.front());
  for (std::size_t i = 1; i < files.size(); ++i) {
    const auto beside = std::filesystem::symlink_status(files[i], error);
    if (!std::filesystem::exists(beside)) continue;
    if (!std::filesystem::is_regular_file(beside)) {
      refuse_file(path, files[i] + " is no file, and is not replaced; give another name");
    }
    if (overwrites) continue;
    refuse_file(path,
                files[i] +
                    " is there already, of a run that was killed, say, and is not overwritten; "
                    "give another name, or --overwrite to replace it");
  }
}

}  // namespace gearshift

#include "cli/record_flag.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "cli/output_files.h"
#include "cli/recording_folder.h"
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

// Of a recording that can be made.
std::vector<std::string> files_at(const std::string& path) {
  try {
    check_replaceable(path);
    return recording_files(behind_own_links(path));
  } catch (const std::runtime_error& unwritable) {
    throw std::runtime_error(std::string("--record ") + unwritable.what());
  }
}

// Whether there is one; refuses what is there and is none.
bool is_file(const std::string& path, const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(file, error);
  if (!std::filesystem::exists(status)) return false;
  if (!std::filesystem::is_regular_file(status)) {
    refuse_file(path, file + " is no file, and is not replaced; give another name");
  }
  return true;
}

}  // namespace

std::vector<std::string> check_record_flag(const RecordFlag& flag) {
  const std::string& path = flag.path;
  if (names_folder(path)) {
    if (flag.overwrites)
      refuse_file(path, "--overwrite: each recording there is a new file; leave it out");
    check_recording_folder(path, flag.keep);
    return {};
  }
  if (flag.keep > 0) {
    refuse_file(path, "--keep-recordings belongs to a folder; end its name with a slash");
  }
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse_file(
        path,
        "is no file, and is not replaced; give another name, of a folder with a slash at its end");
  }
  const std::vector<std::string> files = files_at(path);
  // What is judged is what is replaced: the file itself, which no link leads to any more.
  const bool there = is_file(path, files.front());
  if (there && !flag.overwrites) {
    refuse_file(
        path,
        "the file is there already, and is not overwritten; give another name, or --overwrite "
        "to replace it");
  }
  if (there) check_unused(path, files.front());
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (!is_file(path, files[i]) || flag.overwrites) continue;
    refuse_file(path,
                files[i] +
                    " is there already, of a run that was killed, say, and is not overwritten; "
                    "give another name, or --overwrite to replace it");
  }
  return files;
}

}  // namespace gearshift

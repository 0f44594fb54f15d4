#include "actuators/closed_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

namespace gearshift {

bool make_closed_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (folder.empty() || std::filesystem::exists(folder, ignored)) return false;
  make_closed_folder(folder.parent_path());
  return ::mkdir(folder.c_str(), 0755) == 0;
}

bool is_open_to_others(const std::filesystem::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return false;
  return (info.st_mode & 0022) != 0 && (info.st_mode & S_ISVTX) == 0;
}

std::optional<unsigned> foreign_owner(const std::filesystem::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return std::nullopt;
  if (info.st_uid == 0 || info.st_uid == ::geteuid()) return std::nullopt;
  return info.st_uid;
}

}  // namespace gearshift

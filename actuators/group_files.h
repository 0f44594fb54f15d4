// The files of control groups and what they are named by: board paths of their folders.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "actuators/number_list.h"
#include "boards/sysroot.h"

namespace gearshift {

inline std::string parent_of(const std::string& folder) {
  return folder.substr(0, folder.rfind('/'));
}

// Whether `list`, separated by `separator`, has `item`.
inline bool lists(std::string_view list, char separator, std::string_view item) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    if (list.substr(0, end) == item) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// As the operating system sees it: below the prefix.
inline std::filesystem::path real_path(const Sysroot& root, const std::string& path) {
  return root.prefix() / std::filesystem::path(path).relative_path();
}

// The processes in a group; none where it is gone.
inline std::vector<std::int64_t> members(const Sysroot& root, const std::string& folder) {
  std::string text = root.try_read(folder + "/cgroup.procs").value_or("");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return parse_numbers(text);
}

}  // namespace gearshift

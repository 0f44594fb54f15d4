#include "cli/profile_files.h"

#include <spdlog/fmt/fmt.h>

#include <stdexcept>
#include <utility>

#include "trace/profile_csv.h"

namespace gearshift {

std::vector<Profile> with_rows(std::vector<Profile> profiles, const std::string& path) {
  if (profiles.empty()) throw std::runtime_error(path + ": has no rows");
  return profiles;
}

std::string names_of(std::span<const Profile> profiles) {
  std::string names;
  for (const Profile& one : profiles) {
    names += fmt::format("{}{} ({}) on {}", names.empty() ? "" : ", ", one.workload,
                         kind_name(one.kind), one.device);
  }
  return names;
}

const std::vector<Profile>& ProfileFiles::of(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = read_.find(path);
  if (found != read_.end()) return found->second;
  return read_.emplace(path, with_rows(read_profiles(path), path)).first->second;
}

}  // namespace gearshift

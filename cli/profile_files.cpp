#include "cli/profile_files.h"

#include "trace/profile_csv.h"

namespace gearshift {

const std::vector<Profile>& ProfileFiles::of(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = read_.find(path);
  if (found != read_.end()) return found->second;
  return read_.emplace(path, read_profiles(path)).first->second;
}

}  // namespace gearshift

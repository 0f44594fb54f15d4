#include "cli/profile_files.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <stdexcept>
#include <utility>

#include "boards/board_description.h"
#include "cli/tell.h"
#include "trace/profile_csv.h"
#include "trace/recording_profile.h"
#include "trace/recording_reader.h"

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

void require_few_modes(const KnobSpace& knobs, const std::string& path,
                       const std::string& workload) {
  if (bounded_mode_count(knobs) <= kMaxModes) return;
  throw std::runtime_error(
      fmt::format("{}: the knobs of {} have {}, measured or not; keep fewer values with --keep, or "
                  "round clocks that differ by less than a step in the file",
                  path, workload, too_many_modes(knobs)));
}

const std::vector<Profile>& ProfileFiles::of(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = read_.find(path);
  if (found != read_.end()) return found->second;
  return read_.emplace(path, with_rows(read_profiles(path), path)).first->second;
}

const std::vector<Profile>& ProfileFiles::of_trace(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = traced_.find(path);
  if (found != traced_.end()) return found->second;
  RecordingReader reader(path);
  RecordedProfiles recorded = read_recorded_profiles(reader);
  if (recorded.profiles.empty()) {
    throw std::invalid_argument(
        fmt::format("--trace {}: says no cost: {}", path, why_no_profile(recorded)));
  }
  for (const std::string& line : left_out_lines(recorded)) tell(stderr, "{}\n", line);
  return traced_.emplace(path, std::move(recorded.profiles)).first->second;
}

}  // namespace gearshift

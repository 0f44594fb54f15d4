// The files of profiles that a command was given.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "controller/profile.h"

namespace gearshift {

// What was read from `path`, where it has rows at all. Throws std::runtime_error that names it.
std::vector<Profile> with_rows(std::vector<Profile> profiles, const std::string& path);

// "resnet18 (train) on jetson-agx-orin, lenet (infer) on orin".
std::string names_of(std::span<const Profile> profiles);

// Throws std::runtime_error where a table of `workload` in `path` has more modes than can be
// listed: every combination of its knobs' values counts, measured or not.
void require_few_modes(const KnobSpace& knobs, const std::string& path,
                       const std::string& workload);

// Each file is read once: a pipe can be read no more often, and what it lacks is told once.
class ProfileFiles {
 public:
  // At least one; valid as long as this is; for any thread. Throws what read_profiles and with_rows
  // throw.
  const std::vector<Profile>& of(const std::string& path);
  // The same of what the recording of --trace measured; what it left out is told on standard error.
  // Throws RecordingError, and std::invalid_argument that says why there is none.
  const std::vector<Profile>& of_trace(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<Profile>> read_;
  std::map<std::string, std::vector<Profile>> traced_;
};

}  // namespace gearshift

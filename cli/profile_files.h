// The files of profiles that a command was given, each read once: a pipe can be read no more often.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "controller/profile.h"

namespace gearshift {

class ProfileFiles {
 public:
  // Valid as long as this is; for any thread. Throws what read_profiles throws.
  const std::vector<Profile>& of(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<Profile>> read_;
};

}  // namespace gearshift

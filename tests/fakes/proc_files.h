// What the kernel tells of another process.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

namespace gearshift::fakes {

inline std::string process_name(pid_t process) {
  std::string name;
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::getline(file, name);
  return name;
}

// The first that it started and that still runs, else 0.
inline pid_t child_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  pid_t child = 0;
  file >> child;
  return child;
}

}  // namespace gearshift::fakes

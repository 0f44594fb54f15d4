// What a daemon says to the people behind a workload, and why it cannot be reached, on standard
// error.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>

namespace gearshift {

class DaemonMessages {
 public:
  // Of the command that tells them: "emulate".
  explicit DaemonMessages(std::string command) : command_(std::move(command)) {}

  // Each message once, and no more than 64 of them; an empty one is none. `message` comes from
  // elsewhere: what a terminal would obey is not shown.
  void tell(const std::string& workload, std::string message);

 private:
  static constexpr std::size_t kMost = 64;

  std::string command_;
  std::set<std::string> told_;
};

}  // namespace gearshift

// How long the C++ client gives a connection until it makes it anew.
#pragma once

#include <algorithm>
#include <chrono>

namespace gearshift::client::detail {

// Three seconds, and twice as long after each that was in vain, a minute at most: libzmq may be
// looking up a name, for which it begins again each time.
class ConnectPatience {
 public:
  bool over(std::chrono::nanoseconds waited) const { return waited > longest_; }
  void was_in_vain() { longest_ = std::min(2 * longest_, kMost); }
  void restart() { longest_ = kLeast; }

 private:
  static constexpr std::chrono::nanoseconds kLeast = std::chrono::seconds(3);
  static constexpr std::chrono::nanoseconds kMost = std::chrono::seconds(60);

  std::chrono::nanoseconds longest_ = kLeast;
};

}  // namespace gearshift::client::detail

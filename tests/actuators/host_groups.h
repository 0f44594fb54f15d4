// The knobs of a host board: control groups, wherever this machine or a made-up tree has them.
#pragma once

#include "boards/board_description.h"

namespace gearshift {

inline constexpr const char* kMount = "/sys/fs/cgroup";

inline BoardDescription host() {
  BoardDescription board;
  board.id = "host";
  board.knobs.push_back(
      {{"cpu_cores", Unit::count, KnobClass::hotplug, {1}}, KnobDriver::cgroup_cpuset, kMount, {}});
  board.knobs.push_back({{"cpu_quota_percent", Unit::percent, KnobClass::clock, {100}},
                         KnobDriver::cgroup_quota,
                         kMount,
                         {}});
  return board;
}

}  // namespace gearshift

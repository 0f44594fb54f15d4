// The GPU of a virtual board: its devfreq clock limits, and what nvgpu tells beside them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/clock.h"
#include "simulator/board_tree.h"
#include "simulator/clock_limits.h"
#include "simulator/faults.h"

namespace gearshift {

// Where a JetPack generation has the GPU.
struct GpuPlace {
  std::string device;              // folder: "/sys/devices/platform/bus@0/17000000.gpu"
  std::string node_name;           // of its device-tree node: "gpu"
  std::vector<std::string> links;  // other paths of the device folder
};

class GpuDevice {
 public:
  GpuDevice(std::vector<std::int64_t> table_khz, GpuPlace place, const Faults& faults);

  // Must outlive the tree's files, and so must `now`.
  void add_files(BoardTree& tree, const Time& now, std::uint64_t seed);
  void boot(std::int64_t max_khz);
  // Lets the governor choose its clock for a GPU that works or does not.
  void update(bool busy, Time now);
  // How much of the time it works, 0 to 1: what its `load` file shows.
  void set_utilization(double utilization) { utilization_ = utilization; }

  double clock_khz() const { return static_cast<double>(clock_khz_); }
  // Powered off, after having been idle for a while.
  bool railgated(Time now) const;

 private:
  enum class Limit : std::uint8_t { min, max };

  std::int64_t limit_khz(Limit limit) const;
  std::int64_t chosen_khz() const;
  int write_limit(Limit limit, std::string_view text);
  int write_governor(std::string_view text);
  void add_clock_files(BoardTree& tree, const std::string& folder);
  void add_device_files(BoardTree& tree, const Time& now, std::uint64_t seed);

  const std::vector<std::int64_t> table_khz_;
  const GpuPlace place_;
  const Faults& faults_;
  ClockLimits limits_;
  std::string governor_ = "nvhost_podgov";
  std::int64_t clock_khz_ = 0;
  std::int64_t set_khz_ = 0;  // userspace/set_freq
  bool busy_ = false;
  double utilization_ = 0;
  Time idle_since_{};
  std::int64_t railgate_enable_ = 1;
  std::int64_t railgate_delay_ms_ = 500;
};

}  // namespace gearshift

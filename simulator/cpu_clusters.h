// The CPU of a virtual board: cores that can be switched off, and clusters that share a clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/board_tree.h"
#include "simulator/clock_limits.h"
#include "simulator/faults.h"

namespace gearshift {

class CpuClusters {
 public:
  // `table_khz` lowest first, at least one; cores are grouped into clusters of four.
  CpuClusters(std::size_t cores, std::vector<std::int64_t> table_khz, const Faults& faults);

  // /sys/devices/system/cpu and /proc/stat. Must outlive the tree's files.
  void add_files(BoardTree& tree);
  // The state a board boots into: the first `cores` online, limits as an nvpmodel mode sets them.
  void boot(std::size_t cores, std::int64_t min_khz, std::int64_t max_khz);
  // Lets the governors choose their clocks: all cores work, or none does.
  void update(bool busy);

  std::size_t cores() const { return online_.size(); }
  bool is_online(std::size_t core) const { return online_[core]; }
  std::size_t cores_online() const;
  double mean_khz() const;  // over the cores online

 private:
  static constexpr std::size_t kCoresInCluster = 4;

  struct Cluster {
    std::size_t first = 0;
    std::size_t count = 0;
    ClockLimits limits;
    std::string governor;
    std::int64_t set_khz = 0;    // scaling_setspeed, for governor userspace
    std::int64_t clock_khz = 0;  // in force
  };
  enum class Limit : std::uint8_t { min, max };

  bool active(const Cluster& cluster) const;
  std::string online_cores(const Cluster& cluster, char separator) const;
  std::int64_t chosen_khz(const Cluster& cluster) const;
  std::int64_t limit_khz(const Cluster& cluster, Limit limit) const;
  int asleep_error() const;  // of a write to a cluster that sleeps
  int write_online(std::size_t core, std::string_view text);
  int write_limit(Cluster& cluster, Limit limit, std::string_view text);
  int write_governor(Cluster& cluster, std::string_view text);
  int write_speed(Cluster& cluster, std::string_view text);
  void add_core(BoardTree& tree, std::size_t core);
  void add_cluster(BoardTree& tree, Cluster& cluster);
  std::string core_list(bool online) const;

  const std::vector<std::int64_t> table_khz_;
  const Faults& faults_;
  std::vector<bool> online_;
  std::vector<Cluster> clusters_;
  ClockLimits boot_limits_;
  bool busy_ = false;
};

}  // namespace gearshift

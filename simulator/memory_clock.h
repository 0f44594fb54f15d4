// The memory clock of a virtual board: BPMP's debugfs files and nvpmodel's cap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/board_tree.h"

namespace gearshift {

class MemoryClock {
 public:
  // `table_khz` lowest first. `cap_path` is nvpmodel's file of this JetPack.
  MemoryClock(std::vector<std::int64_t> table_khz, std::string cap_path);

  // Must outlive the tree's files.
  void add_files(BoardTree& tree);
  // Unless a rate is locked, the clock follows the load.
  void update(bool busy);
  // How much of the bandwidth is used, 0 to 1: what the activity monitor shows.
  void set_dram_share(double share) { dram_share_ = share; }
  double clock_khz() const;

 private:
  int write_lock(std::string_view text);
  int write_rate(std::string_view text);
  int write_cap(std::string_view text);
  std::int64_t cap_khz() const;

  const std::vector<std::int64_t> table_khz_;
  const std::string cap_path_;
  bool locked_ = false;
  std::int64_t state_ = 1;
  std::int64_t locked_khz_ = 0;
  std::int64_t floating_khz_ = 0;
  std::int64_t wanted_cap_khz_ = 0;  // 0: none
  double dram_share_ = 0;
};

}  // namespace gearshift

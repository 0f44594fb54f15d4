// The files of a virtual board that say what it is, and those that are there to be told apart from
// the ones that matter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "simulator/board_tree.h"
#include "simulator/gpu_device.h"

namespace gearshift {

// What differs between the JetPack generations of AGX Orin.
struct Generation {
  int jetpack = 6;
  std::string l4t_release;     // first line of /etc/nv_tegra_release
  std::string kernel_release;  // uname -r
  std::string module;          // most specific entry of compatible
  GpuPlace gpu;
  std::string i2c_device;       // folder of the controller that the power monitors hang on
  std::string memory_cap_path;  // nvpmodel's cap of the memory clock
};

// By the board file's L4T majors. Throws std::invalid_argument for a board that is no AGX Orin with
// JetPack 5 or 6, or has no cost model.
Generation generation_of(const BoardDescription& board);
bool can_be_virtual(const BoardDescription& board);

// Device tree, releases, boot id, nvpmodel's state, a power supply that powers nothing.
void add_identity(BoardTree& tree, const Generation& generation, std::uint64_t seed);

// The numbers of `count` hwmon folders: a kernel gives them in the order that drivers happen to
// load, so they are shuffled by the seed.
std::vector<int> hwmon_numbers(std::uint64_t seed, int count);

// The fan, its speed and the counters of over-current events, in their hwmon folders.
class HwmonNeighbours {
 public:
  static constexpr int kCount = 3;
  // `numbers` of their folders. Must outlive the tree's files.
  void add_files(BoardTree& tree, const std::vector<int>& numbers);

 private:
  std::int64_t fan_duty_ = 60;  // 0..255
  std::int64_t fan_enable_ = 1;
};

}  // namespace gearshift

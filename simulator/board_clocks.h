// The clocks of a board as a program that runs on it can read them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/cost_model.h"
#include "boards/sysroot.h"

namespace gearshift {

class BoardClocks {
 public:
  // Opens what there is to read and keeps it open. A clock that cannot be read (memory, where
  // debugfs is closed) counts as at its highest. `root` must outlive the clocks. Throws FileError
  // where there is no CPU or GPU clock at all.
  BoardClocks(const BoardDescription& board, Sysroot& root);

  // Clusters at different clocks count with the mean over the cores online. A read that fails gives
  // the value before it.
  const ModelMode& read();

 private:
  struct Cluster {
    std::vector<std::size_t> cores;
    DeviceFile clock_khz;
  };

  ModelMode mode_;
  std::vector<Cluster> clusters_;
  std::vector<std::size_t> online_;  // reused
  std::optional<DeviceFile> online_file_;
  std::optional<DeviceFile> gpu_hz_;
  std::optional<DeviceFile> memory_hz_;
  std::optional<DeviceFile> clock_percent_;  // a fault: what a throttled board leaves of clocks
};

}  // namespace gearshift

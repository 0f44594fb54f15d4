// A virtual board without I/O and without a clock of its own: files that can be read and written,
// and what comes of it as time passes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boards/board_description.h"
#include "controller/clock.h"
#include "simulator/battery_device.h"
#include "simulator/board_identity.h"
#include "simulator/board_tree.h"
#include "simulator/cpu_clusters.h"
#include "simulator/faults.h"
#include "simulator/gpu_device.h"
#include "simulator/load.h"
#include "simulator/memory_clock.h"
#include "simulator/optimum.h"
#include "simulator/power_monitor.h"
#include "simulator/thermal_model.h"

namespace gearshift {

struct BoardStateOptions {
  std::uint64_t seed = 1;
  double noise = 0.02;  // deviation of a power reading, relative
  LagShape lag = LagShape::boxcar;
  std::optional<SupplySpec> supply{};  // nothing: the board hangs on the mains
};

enum class FileAccess : std::uint8_t { read, write };

// What stat(2) tells.
struct FileAttributes {
  NodeKind kind = NodeKind::file;
  std::uint16_t mode = 0;
  std::size_t size = 0;
  std::string target;  // of a link, relative
};

// Board paths are absolute ("/sys/class/hwmon"). Besides the board's own files there is /.virtual:
// faults, load, true_power_mw, optimum, writes. The board begins as nvpmodel's 30 W mode leaves it.
class BoardState {
 public:
  // `board` must outlive the state. Throws std::invalid_argument for a board that cannot be
  // virtual.
  explicit BoardState(const BoardDescription& board, BoardStateOptions options = {});
  BoardState(const BoardState&) = delete;
  BoardState& operator=(const BoardState&) = delete;

  // Time never goes back: an earlier one is taken as the time now.
  void advance(Time now);

  // Links are followed. ENOENT, EISDIR, or what the file itself answers.
  FileText read(std::string_view path) const;
  // One write(2) of one value; blanks around it do not count. 0 or an errno.
  int write(std::string_view path, std::string_view text);
  // Sorted names. Nothing where there is no such folder.
  std::optional<std::vector<std::string>> list(std::string_view folder) const;
  // A link at the end is not followed. Nothing where there is no such node.
  std::optional<FileAttributes> attributes(std::string_view path) const;
  // 0, or the errno that opening for `access` fails with. Not `privileged`: neither root nor the
  // owner of the tree.
  int permission(std::string_view path, FileAccess access, bool privileged) const;
  // How long the hardware makes the caller wait: a core takes a while to start or stop, some power
  // monitors wait for a conversion.
  Duration delay(std::string_view path, FileAccess access) const;

  // What an open handle of /.virtual/load does.
  LoadHandle open_load() { return loads_.open(); }
  int write_load(LoadHandle handle, std::string_view text);
  void close_load(LoadHandle handle);
  const Loads& loads() const { return loads_; }

  double true_power_mw() const { return activity_.power.total_mw(); }
  // The clocks in force; cores that differ count with their mean.
  ModelMode clocks() const;
  std::uint64_t writes() const { return writes_; }

  // Judges some of what /.virtual/optimum shows, for a few milliseconds. True once reading it takes
  // no longer than reading any other file.
  bool prepare_optimum() { return optimum_.advance(loads_); }

  static constexpr std::string_view kOptimumPath = "/.virtual/optimum";
  static constexpr std::string_view kLoadPath = "/.virtual/load";

 private:
  const BoardNode* visible(const BoardNode* node) const;
  int denied(const BoardNode& node, FileAccess access) const;
  void add_hwmon(BoardTree& tree);
  void drain();
  void add_truth(BoardTree& tree);
  // Lets everything take the clocks and loads as they are now.
  void settle();
  void write_from_outside();

  const BoardDescription& board_;
  const BoardStateOptions options_;
  const Generation generation_;
  Time now_{};
  Faults faults_;
  Loads loads_;
  CpuClusters cpu_;
  GpuDevice gpu_;
  MemoryClock memory_;
  PowerMonitor monitor_;
  ThermalModel thermal_;
  HwmonNeighbours neighbours_;
  std::optional<BatteryDevice> battery_;
  mutable OptimumText optimum_;  // remembers what it computed
  Activity activity_;
  std::uint64_t writes_ = 0;
  std::uint64_t outside_generation_ = 0;
  Time outside_due_{};
  BoardTree tree_;  // its files refer to everything above
};

}  // namespace gearshift

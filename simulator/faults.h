// What can be made to go wrong on a virtual board: one file a fault below /.virtual/faults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/clock.h"
#include "simulator/board_tree.h"

namespace gearshift {

// How a clock request is ignored.
enum class IgnoredClock : std::uint8_t {
  no,
  clock,   // the limits are taken and read back, but the clock stays where it was
  limits,  // the write succeeds, and nothing changes at all
};

// Another program that writes `value` to `path` every `period`, from the moment it is set.
struct OutsideWriter {
  std::string path;
  std::string value;
  Duration period{};
  std::uint64_t generation = 0;  // counts how often the fault was set
};

struct Faults {
  IgnoredClock ignore_gpu_clock = IgnoredClock::no;
  IgnoredClock ignore_cpu_clock = IgnoredClock::no;
  bool forget_limits = false;  // a cluster that comes back online has its default limits
  bool stale_cpufreq = false;  // a cluster asleep shows what it held: kernels before 5.19
  std::string dead_channel;    // label of a rail whose reads fail
  bool sensor_stuck = false;
  bool sensor_garbage = false;  // what a rail reads is no number
  std::optional<std::int64_t> sensor_absurd_ma;
  OutsideWriter outside_writer;  // no path: none
  std::string closed_path;       // EACCES at and below it
  bool closed_to_readers = false;
  std::string broken_path;           // EIO at and below it
  std::string busy_path;             // writes at and below it end in EBUSY
  std::string missing_path;          // ENOENT at and below it
  std::int64_t clock_percent = 100;  // of what is set and read back, on CPU and GPU
  std::int64_t heat_percent = 100;   // of the highest clock: what cooling devices leave of limits
  std::int64_t block_read_ms = 0;    // what a read of a power rail takes

  // Adds the folder's files and its README to the tree, which is also asked whether a path exists.
  // Both must outlive the tree's files.
  void add_files(BoardTree& tree);
};

// True where `path` is `top` or below it; false where `top` is empty.
bool at_or_below(std::string_view path, std::string_view top);

}  // namespace gearshift

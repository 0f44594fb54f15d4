// Estimates a machine's power from its CPU time, where nothing measures it. It is a stand-in that
// moves with the load, not a measurement: every reading of it says that it is an estimate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/sensor.h"

namespace gearshift {

// Emits power (channel 0) = estimate_idle_w + estimate_core_w * busy cores, the latter from the CPU
// time used between two readings at least the board's period apart. Where cgroup v1 counts the time
// of all processes it is taken from there, in nanoseconds; else from the first line of /proc/stat,
// where it comes in ticks, and who runs between two of them is not seen: as a share of all CPU
// time, times the number of CPUs, which are counted once a second. Time stolen by a host counts as
// idle. No power at all is absurd.
class CpuTimeEstimate : public Sensor {
 public:
  static std::unique_ptr<CpuTimeEstimate> open(const PowerDescription& power, Sysroot& root,
                                               std::vector<std::string>& findings);

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;

 private:
  // Since boot: busy summed over all CPUs, total too in ticks, and that of the clock in ns.
  struct CpuTime {
    std::int64_t busy = 0;
    std::int64_t total = 0;
  };

  CpuTimeEstimate(DeviceFile counter, bool exact, Sysroot& root, const PowerDescription& power);
  static std::optional<CpuTime> parse(std::string_view text);
  std::optional<CpuTime> count(Time now);
  double busy_cores(const CpuTime& since, const CpuTime& until, Time now);
  void sample(Time now);

  DeviceFile counter_;
  const bool exact_;  // it is of a cgroup
  Sysroot& root_;
  int cpus_ = 0;  // that were online when they were counted
  Time count_again_{};
  const double idle_w_;
  const double core_w_;
  const Duration period_;
  const std::int64_t plausible_max_mw_;
  std::optional<CpuTime> last_;
  std::optional<Time> sampled_;
  Reading newest_;
};

}  // namespace gearshift

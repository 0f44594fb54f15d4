// The two INA3221 power monitors of a virtual AGX Orin: lag, noise, quantisation and hwmon files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/clock.h"
#include "simulator/board_tree.h"
#include "simulator/faults.h"
#include "simulator/rail_sample.h"
#include "simulator/sensor_lag.h"

namespace gearshift {

struct SensorOptions {
  std::uint64_t seed = 1;
  double noise = 0.02;  // deviation of a reading, relative
  LagShape lag = LagShape::boxcar;
  Duration lag_constant{};     // of the boxcar at 512 samples, or of the first-order lag
  Duration update_interval{};  // noise is drawn anew in each
};

class PowerMonitor {
 public:
  // `faults` and `now` must outlive the monitor.
  PowerMonitor(const SensorOptions& options, const Faults& faults, const Time& now);

  // The files of the monitor at the i2c address 0x40 or 0x41, in its hwmon folder. Must outlive the
  // tree's files.
  void add_files(BoardTree& tree, const std::string& folder, int address);
  void change(const RailPower& power) { lag_.change(now_, power); }
  // Rails repeat what they read at the moment that the fault is switched on.
  void update_faults();

 private:
  static constexpr std::int64_t kSampleCount = 512;

  RailSample sample(Rail rail) const;
  double noise_factor() const;
  bool dead(std::string_view label) const { return faults_.dead_channel == label; }
  int write_samples(std::string_view text);
  void add_rail(BoardTree& tree, const std::string& folder, int channel, Rail rail);
  void add_unused(BoardTree& tree, const std::string& folder, int channel);

  const SensorOptions options_;
  const Faults& faults_;
  const Time& now_;
  SensorLag lag_;
  std::optional<Time> stuck_at_;
  RailPower stuck_;
  std::int64_t samples_ = kSampleCount;
  std::int64_t crit_ma_[kRails] = {32760, 32760, 32760, 32760};
  std::int64_t max_ma_[kRails] = {32760, 32760, 32760, 32760};
};

}  // namespace gearshift

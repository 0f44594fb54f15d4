#include "simulator/power_monitor.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "simulator/noise.h"

namespace gearshift {

PowerMonitor::PowerMonitor(const SensorOptions& options, const Faults& faults, const Time& now)
    : options_(options), faults_(faults), now_(now), lag_(options.lag, options.lag_constant) {}

void PowerMonitor::update_faults() {
  if (!faults_.sensor_stuck) {
    stuck_at_.reset();
  } else if (!stuck_at_) {
    stuck_ = lag_.value(now_);
    stuck_at_ = now_;
  }
}

// One factor for all rails, so that the total has the stated deviation and not less.
double PowerMonitor::noise_factor() const {
  const Time at = stuck_at_.value_or(now_);
  const auto index = static_cast<std::uint64_t>(at.time_since_epoch() / options_.update_interval);
  return std::max(0.0, 1 + options_.noise * normal_noise(options_.seed, Stream::power, index));
}

RailSample PowerMonitor::sample(Rail rail) const {
  const RailPower power = stuck_at_ ? stuck_ : lag_.value(now_);
  RailSample sample = rail_sample(rail, power[rail] * noise_factor());
  if (faults_.sensor_absurd_ma) sample.current_ma = *faults_.sensor_absurd_ma;
  return sample;
}

int PowerMonitor::write_samples(std::string_view text) {
  constexpr std::int64_t kAllowed[] = {1, 4, 16, 64, 128, 256, 512, 1024};
  const std::optional<std::int64_t> wanted = whole_integer(text);
  if (!wanted ||
      std::find(std::begin(kAllowed), std::end(kAllowed), *wanted) == std::end(kAllowed)) {
    return EINVAL;
  }
  samples_ = *wanted;
  lag_.set_constant(now_, options_.lag_constant * samples_ / kSampleCount);
  return 0;
}

void PowerMonitor::add_rail(BoardTree& tree, const std::string& folder, int channel, Rail rail) {
  const auto index = static_cast<std::size_t>(rail);
  const std::string_view label = rail_label(rail);
  const std::string number = std::to_string(channel);
  const std::string voltage = folder + "/in" + number;
  const std::string current = folder + "/curr" + number;
  const auto add = [&](const std::string& path, auto value) {
    tree.add_file(path, 0444, [this, label, rail, value] {
      if (dead(label)) return FileText{"", ENODATA};
      return faults_.sensor_garbage ? line("?\x07-1e9") : line(value(sample(rail)));
    });
  };
  tree.add_text(voltage + "_label", std::string(label));
  tree.add_text(voltage + "_enable", "1");
  add(voltage + "_input", [](const RailSample& sample) { return sample.voltage_mv; });
  add(current + "_input", [](const RailSample& sample) { return sample.current_ma; });
  // The shunt's own voltage, in uV: channels 4 to 6 of the driver.
  add(folder + "/in" + std::to_string(channel + 3) + "_input",
      [](const RailSample& sample) { return sample.current_ma * kShuntUohm / 1000; });
  const auto any = [](std::int64_t value) { return value >= 0; };
  tree.add_number(current + "_crit", crit_ma_[index], any);
  tree.add_number(current + "_max", max_ma_[index], any);
  const auto add_alarm = [&](const std::string& path, const std::int64_t& limit_ma) {
    add(path, [&limit_ma](const RailSample& sample) -> std::int64_t {
      return sample.current_ma > limit_ma ? 1 : 0;
    });
  };
  add_alarm(current + "_crit_alarm", crit_ma_[index]);
  add_alarm(current + "_max_alarm", max_ma_[index]);
  tree.add_text(folder + "/shunt" + number + "_resistor", std::to_string(kShuntUohm));
}

// A channel that the board does not use: its label is hidden and its reads fail.
void PowerMonitor::add_unused(BoardTree& tree, const std::string& folder, int channel) {
  const std::string number = std::to_string(channel);
  tree.add_text(folder + "/in" + number + "_enable", "0");
  for (const std::string& path :
       {folder + "/in" + number + "_input", folder + "/curr" + number + "_input",
        folder + "/in" + std::to_string(channel + 3) + "_input"}) {
    tree.add_file(path, 0444, [] { return FileText{"", ENODATA}; });
  }
}

void PowerMonitor::add_files(BoardTree& tree, const std::string& folder, int address) {
  tree.add_text(folder + "/name", "ina3221");
  if (address == 0x40) {
    add_rail(tree, folder, 1, Rail::gpu_soc);
    add_rail(tree, folder, 2, Rail::cpu_cv);
    add_rail(tree, folder, 3, Rail::sys_5v0);
  } else {
    add_unused(tree, folder, 1);
    add_rail(tree, folder, 2, Rail::vddq);
    add_unused(tree, folder, 3);
  }
  tree.add_text(folder + "/in7_label", "sum of shunt voltages");
  tree.add_file(
      folder + "/samples", 0644, [this] { return line(samples_); },
      [this](std::string_view text) { return write_samples(text); });
  tree.add_file(folder + "/update_interval", 0444, [this] {
    constexpr std::int64_t kConversionUs = 140;
    return line(kConversionUs * 2 * 3 * samples_ / 1000);
  });
}

}  // namespace gearshift

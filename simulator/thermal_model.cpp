#include "simulator/thermal_model.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace gearshift {
namespace {

constexpr double kAmbientC = 27;
constexpr double kSinkCPerW = 0.55;   // heat sink and fan of the developer kit at 60 W: 60 C
constexpr double kSinkSeconds = 90;   // time constant of the heat sink
constexpr double kBlockCPerW = 0.12;  // a block above the heat sink, a watt of its own rail
constexpr double kStepC = 1.0 / 32;   // resolution of the sensors
constexpr std::int64_t kPassiveMc = 99'000;
constexpr std::int64_t kCriticalMc = 104'500;
constexpr std::int64_t kHotSurfaceMc = 70'000;

struct Trip {
  std::int64_t temperature_mc;
  std::string_view type;
  std::int64_t hysteresis_mc;
};
constexpr Trip kTrips[] = {
    {kPassiveMc, "passive", 0}, {kCriticalMc, "critical", 0}, {kHotSurfaceMc, "passive", 8000}};

}  // namespace

ThermalModel::ThermalModel(int jetpack, const Time& now, const GpuDevice& gpu, const Faults& faults)
    : capitals_(jetpack < 6), now_(now), gpu_(gpu), faults_(faults), sink_at_change_c_(kAmbientC) {
  const std::string suffix = capitals_ ? "-therm" : "-thermal";
  const auto add = [&](const char* capital, const char* small, Block block) {
    zones_.push_back({(capitals_ ? capital : small) + suffix, block});
  };
  add("CPU", "cpu", Block::cpu);
  add("GPU", "gpu", Block::gpu);
  add("CV0", "cv0", Block::vision);
  add("CV1", "cv1", Block::vision);
  add("CV2", "cv2", Block::vision);
  add("SOC0", "soc0", Block::soc);
  add("SOC1", "soc1", Block::soc);
  add("SOC2", "soc2", Block::soc);
  add("tj", "tj", Block::junction);
}

void ThermalModel::change(const RailPower& power) {
  sink_at_change_c_ = changed_ ? sink_c(now_) : kAmbientC + kSinkCPerW * power.total_mw() / 1000;
  power_ = power;
  changed_ = now_;
}

double ThermalModel::sink_c(Time now) const {
  const double settled = kAmbientC + kSinkCPerW * power_.total_mw() / 1000;
  const double left = std::exp(-seconds(now - changed_.value_or(now)) / kSinkSeconds);
  return settled + left * (sink_at_change_c_ - settled);
}

double ThermalModel::temperature_c(Block block) const {
  const double sink = sink_c(now_);
  switch (block) {
    case Block::cpu:
      return sink + kBlockCPerW * power_[Rail::cpu_cv] / 1000;
    case Block::gpu:
      return sink + kBlockCPerW * power_[Rail::gpu_soc] / 1000;
    case Block::vision:
    case Block::soc:
      return sink + kBlockCPerW * power_[Rail::vddq] / 1000;
    case Block::junction:
      return std::max(temperature_c(Block::cpu), temperature_c(Block::gpu));
  }
  return sink;
}

// A block without power has no temperature: newer kernels answer EAGAIN, older ones -256 C.
FileText ThermalModel::read_zone(Block block) const {
  const bool off = block == Block::vision || (block == Block::gpu && gpu_.railgated(now_));
  if (off) return capitals_ ? line(-256'000) : FileText{"", EAGAIN};
  const double stepped = kStepC * std::round(temperature_c(block) / kStepC);
  return line(static_cast<std::int64_t>(1000 * stepped));
}

void ThermalModel::add_cooling_devices(BoardTree& tree) {
  const std::string_view kinds[] = {"cpufreq-cpu0",
                                    "cpufreq-cpu4",
                                    "cpufreq-cpu8",
                                    "devfreq-17000000.gpu",
                                    "cpu-throttle-alert",
                                    "gpu-throttle-alert",
                                    "soc0-throttle-alert",
                                    "soc1-throttle-alert",
                                    "soc2-throttle-alert",
                                    "hot-surface-alert",
                                    "pwm-fan"};
  int number = 0;
  for (const std::string_view kind : kinds) {
    const std::string name = "cooling_device" + std::to_string(number++);
    const std::string folder = "/sys/devices/virtual/thermal/" + name;
    const bool fan = kind == "pwm-fan";
    const std::int64_t from_mc = kind == "hot-surface-alert" ? kHotSurfaceMc : kPassiveMc;
    tree.add_text(folder + "/type", std::string(kind));
    tree.add_text(folder + "/max_state", fan ? "3" : "1");
    const bool lowers = kind.starts_with("cpufreq-") || kind.starts_with("devfreq-");
    tree.add_file(folder + "/cur_state", 0444, [this, fan, lowers, from_mc] {
      if (lowers && faults_.heat_percent < 100) return line(1);
      if (fan) return line(std::clamp<std::int64_t>(std::llround((sink_c(now_) - 40) / 10), 0, 3));
      return line(1000 * temperature_c(Block::junction) >= static_cast<double>(from_mc) ? 1 : 0);
    });
    tree.add_link("/sys/class/thermal/" + name, folder);
  }
}

void ThermalModel::add_files(BoardTree& tree) {
  for (std::size_t number = 0; number < zones_.size(); ++number) {
    const std::string name = "thermal_zone" + std::to_string(number);
    const std::string folder = "/sys/devices/virtual/thermal/" + name;
    tree.add_text(folder + "/type", zones_[number].name);
    tree.add_text(folder + "/policy", "step_wise");
    tree.add_text(folder + "/mode", "enabled");
    tree.add_file(folder + "/temp", 0444,
                  [this, block = zones_[number].block] { return read_zone(block); });
    int trip = 0;
    for (const Trip& entry : kTrips) {
      const std::string stem = folder + "/trip_point_" + std::to_string(trip++);
      tree.add_text(stem + "_temp", std::to_string(entry.temperature_mc));
      tree.add_text(stem + "_type", std::string(entry.type));
      tree.add_text(stem + "_hyst", std::to_string(entry.hysteresis_mc));
    }
    tree.add_link("/sys/class/thermal/" + name, folder);
  }
  add_cooling_devices(tree);
}

}  // namespace gearshift

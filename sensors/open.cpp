#include "sensors/open.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "sensors/awaited_power.h"
#include "sensors/cpu_time_estimate.h"
#include "sensors/ina3221.h"
#include "sensors/nvml_power.h"
#include "sensors/rapl.h"
#include "sensors/sampler.h"
#include "sensors/thermal_zones.h"

namespace gearshift {
namespace {

// Stands where no power can be read, so that the reason is told as for any missing reading.
class UnknownPower : public Sensor {
 public:
  explicit UnknownPower(std::string reason) : reason_(std::move(reason)) {}

  void read(Time now, std::vector<Reading>& readings) override {
    readings.push_back({Quantity::power, ReadingState::missing, false, 0, 0, now});
  }
  std::string explain(const Reading&) const override { return reason_; }

 private:
  const std::string reason_;
};

// In a thread of its own where the board says that reads block; null where there can be none.
std::unique_ptr<Sensor> sampled(std::unique_ptr<BlockingSensor> sensor,
                                const PowerDescription& power, const Clock& clock,
                                OpenedSensors& opened) {
  if (sensor == nullptr || !power.reads_block) return sensor;
  try {
    auto sampler = std::make_unique<Sampler>(std::move(sensor), clock, power.period);
    opened.wake_descriptor = sampler->wake_descriptor();
    opened.findings.push_back("power: reads block on this board, a sampler thread makes them");
    return sampler;
  } catch (const std::system_error& error) {
    opened.findings.push_back("power: no sampler thread: " + std::string(error.what()));
    opened.power_is_estimate = false;
    return nullptr;
  }
}

std::unique_ptr<Sensor> open_ina3221(const PowerDescription& power, Sysroot& root,
                                     const Clock& clock, OpenedSensors& opened) {
  std::unique_ptr<Ina3221> sensor =
      Ina3221::open(power, root, opened.findings, power.reads_block ? &clock : nullptr);
  if (sensor != nullptr) {
    opened.power_is_estimate = sensor->estimates();
    if (const auto told = told_averaging(power, root, opened.findings)) {
      // Rails that are read one after the other add up to no mean of one window.
      const auto in_turn = power.judged_over / power.window;
      opened.power_averaging = in_turn > 1 ? PowerAveraging{{}, told->window * in_turn} : *told;
    }
  }
  return sampled(std::move(sensor), power, clock, opened);
}

std::unique_ptr<Sensor> open_source(PowerSource source, const PowerDescription& power,
                                    Sysroot& root, const Clock& clock, OpenedSensors& opened) {
  switch (source) {
    case PowerSource::ina3221:
      return open_ina3221(power, root, clock, opened);
    case PowerSource::rapl: {
      std::unique_ptr<Sensor> sensor = Rapl::open(power, root, opened.findings);
      opened.power_counts = sensor != nullptr;
      return sensor;
    }
    case PowerSource::cpu_time_estimate: {
      std::unique_ptr<Sensor> sensor = CpuTimeEstimate::open(power, root, opened.findings);
      opened.power_is_estimate = opened.power_counts = sensor != nullptr;
      return sensor;
    }
    case PowerSource::nvml:
      return sampled(NvmlPower::open(power, root, opened.findings), power, clock, opened);
  }
  return nullptr;
}

// Packages are registered one after the other: a sum of the first ones would be too low.
std::unique_ptr<Sensor> await_rapl(const PowerDescription& power, Sysroot& root,
                                   const std::string& why) {
  return std::make_unique<AwaitedPower>(
      why,
      [power, &root, seen = std::size_t{0}](
          std::vector<std::string>& findings) mutable -> std::unique_ptr<Sensor> {
        std::unique_ptr<Rapl> rapl = Rapl::open(power, root, findings);
        const std::size_t before = std::exchange(seen, rapl ? rapl->packages() : 0);
        if (seen == before) return rapl;
        findings.emplace_back("power: RAPL may have more packages in a second");
        return nullptr;
      },
      std::chrono::seconds(1));
}

// Not as often: NVML may try to have its driver loaded each time.
std::unique_ptr<BlockingSensor> await_nvml(const PowerDescription& power, Sysroot& root,
                                           const std::string& why) {
  return std::make_unique<AwaitedPower>(
      why,
      [power, &root](std::vector<std::string>& findings) {
        return NvmlPower::open(power, root, findings);
      },
      std::chrono::seconds(10));
}

// Null where there is none of the source to wait for.
std::unique_ptr<Sensor> await_source(PowerSource source, const PowerDescription& power,
                                     Sysroot& root, const Clock& clock, const std::string& why,
                                     OpenedSensors& opened) {
  switch (source) {
    case PowerSource::ina3221:
      opened.findings.emplace_back("power: an ina3221 is looked for every second");
      return sampled(Ina3221::awaited(power, root, why, power.reads_block ? &clock : nullptr),
                     power, clock, opened);
    case PowerSource::rapl:
      opened.findings.emplace_back("power: RAPL is looked for every second");
      opened.power_counts = true;
      return await_rapl(power, root, why);
    case PowerSource::nvml:
      opened.findings.emplace_back("power: NVML is tried every ten seconds");
      return sampled(await_nvml(power, root, why), power, clock, opened);
    case PowerSource::cpu_time_estimate:
      return nullptr;
  }
  return nullptr;
}

// Where no source can be read: a driver may be loaded late in a boot. One of them is waited for,
// because powers that are read in different ways do not compare.
std::unique_ptr<Sensor> await_power(const BoardDescription& board, Sysroot& root,
                                    const Clock& clock, OpenedSensors& opened) {
  std::string reason = "no power source of board " + board.id + " can be read";
  for (const std::string& finding : opened.findings) reason += "; " + finding;
  opened.findings.emplace_back("power: unknown; limits on it cannot be kept");
  for (const PowerSource source : board.power.sources) {
    auto power = await_source(source, board.power, root, clock, reason, opened);
    if (power != nullptr) return power;
  }
  return std::make_unique<UnknownPower>(std::move(reason));
}

}  // namespace

OpenedSensors open_sensors(const BoardDescription& board, Sysroot& root, const Clock& clock) {
  OpenedSensors opened;
  opened.power_averaging = {board.power.averaging, board.power.judged_over};
  std::unique_ptr<Sensor> power;
  for (const PowerSource source : board.power.sources) {
    power = open_source(source, board.power, root, clock, opened);
    if (power != nullptr) break;
  }
  if (power == nullptr) power = await_power(board, root, clock, opened);
  opened.sensors.push_back(std::move(power));
  auto zones = ThermalZones::open(board.thermal_zones, root, opened.findings);
  if (zones != nullptr) {
    opened.thermal_zones = zones->look();
    opened.thermal = zones.get();
    opened.sensors.push_back(std::move(zones));
  }
  return opened;
}

}  // namespace gearshift

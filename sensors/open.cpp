#include "sensors/open.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

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
  std::unique_ptr<Ina3221> sensor = Ina3221::open(power, root, opened.findings);
  if (sensor != nullptr) opened.power_is_estimate = sensor->estimates();
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

// Where no source can be read: the driver of the monitors may be loaded late in a boot.
std::unique_ptr<Sensor> await_power(const BoardDescription& board, Sysroot& root,
                                    const Clock& clock, OpenedSensors& opened) {
  std::string reason = "no power source of board " + board.id + " can be read";
  for (const std::string& finding : opened.findings) reason += "; " + finding;
  const auto& sources = board.power.sources;
  std::unique_ptr<Sensor> power;
  if (std::find(sources.begin(), sources.end(), PowerSource::ina3221) != sources.end()) {
    power = sampled(Ina3221::awaited(board.power, root, reason), board.power, clock, opened);
  }
  opened.findings.push_back("power: unknown; limits on it cannot be kept" +
                            std::string(power ? "; an ina3221 is looked for every second" : ""));
  if (power == nullptr) power = std::make_unique<UnknownPower>(std::move(reason));
  return power;
}

}  // namespace

OpenedSensors open_sensors(const BoardDescription& board, Sysroot& root, const Clock& clock) {
  OpenedSensors opened;
  std::unique_ptr<Sensor> power;
  for (const PowerSource source : board.power.sources) {
    power = open_source(source, board.power, root, clock, opened);
    if (power != nullptr) break;
  }
  if (power == nullptr) power = await_power(board, root, clock, opened);
  opened.sensors.push_back(std::move(power));
  auto zones = ThermalZones::open(board.thermal_zones, root, opened.findings);
  if (zones != nullptr) {
    opened.thermal_zones = zones->zones();
    opened.thermal = zones.get();
    opened.sensors.push_back(std::move(zones));
  }
  return opened;
}

}  // namespace gearshift

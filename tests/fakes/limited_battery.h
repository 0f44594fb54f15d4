// A battery's limit with the events and readings that it goes by.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "limits/battery_limit.h"

namespace gearshift::fakes {

inline constexpr double kCapacityWh = 10;

inline Setting setting(std::int64_t value) {
  Setting made;
  made.mode.count = 1;
  made.mode.values[0] = value;
  made.batch_size[index(Kind::train)] = 16;
  return made;
}

// 10 W and 100 samples a second, 20 W and 300, 30 W and 390.
inline WorkPrediction prediction(const Workload&) {
  return {.front = {{setting(1), {10, 100}}, {setting(2), {20, 300}}, {setting(3), {30, 390}}},
          .of = {}};
}

class Limited {
 public:
  explicit Limited(const BatteryLimitOptions& options, bool saves = false,
                   PredictWork predict = prediction, Kind kind = Kind::train)
      : limit(options, std::move(predict)) {
    attach(1, kind, saves);
  }

  void attach(WorkloadHandle handle, Kind kind, bool saves = false) {
    Event attached;
    attached.type = EventType::attached;
    attached.workload.handle = handle;
    attached.workload.kind = kind;
    attached.workload.managed = true;
    attached.workload.samples_per_epoch = samples_per_epoch;
    attached.workload.saves = saves;
    attached.workload.name = BoundedText<64>("resnet18");
    limit.consume(attached);
  }
  void detach(WorkloadHandle handle) {
    Event detached;
    detached.type = EventType::detached;
    detached.handle = handle;
    limit.consume(detached);
  }

  void read(Quantity quantity, double thousands) {
    limit.read({.quantity = quantity,
                .state = ReadingState::ok,
                .value = static_cast<std::int64_t>(1000 * thousands),
                .taken = now});
  }
  void battery(double energy_wh, std::optional<double> voltage_v = 12) {
    read(Quantity::battery_capacity, 3600 * capacity_wh);
    read(Quantity::battery_energy, 3600 * energy_wh);
    if (voltage_v) read(Quantity::battery_voltage, *voltage_v);
  }
  std::optional<std::int64_t> cap() { return limit.power_mw(now); }
  void train(std::int32_t samples, WorkloadHandle handle = 1) {
    Event event;
    event.type = EventType::minibatch;
    event.minibatch.workload = handle;
    event.minibatch.batch_size = samples;
    event.minibatch.received = now;
    limit.consume(event);
  }

  std::int64_t samples_per_epoch = 1000;
  double capacity_wh = kCapacityWh;
  BatteryLimit limit;
  Time now = Time{} + std::chrono::seconds(100);
};

}  // namespace gearshift::fakes

#include "bridge/battery_answer.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>

namespace gearshift::wire {
namespace {

constexpr double kThousandths = 1000;

std::int64_t thousandths(const std::optional<double>& value) {
  return std::llround(value.value_or(0) * kThousandths);
}

std::optional<double> whole(std::int64_t value) {
  if (value == 0) return std::nullopt;
  return static_cast<double>(value) / kThousandths;
}

}  // namespace

std::vector<std::int64_t> battery_row(const Battery& battery) {
  if (!battery.known()) return {};
  return {thousandths(battery.energy_wh), thousandths(battery.capacity_wh),
          thousandths(battery.voltage_v), thousandths(battery.current_a), battery.estimate ? 1 : 0};
}

std::int64_t age_ns(const Battery& battery, Time now) {
  return battery.known() ? (now - battery.taken).count() : 0;
}

Battery read_battery(const std::vector<std::int64_t>& row) {
  constexpr std::size_t kNumbers = 5;
  Battery battery;
  if (row.empty()) return battery;
  if (row.size() != kNumbers) throw std::runtime_error("the answer's battery is none");
  battery.energy_wh = static_cast<double>(row[0]) / kThousandths;
  battery.capacity_wh = whole(row[1]);
  battery.voltage_v = whole(row[2]);
  battery.current_a = whole(row[3]);
  battery.estimate = row[4] != 0;
  return battery;
}

}  // namespace gearshift::wire

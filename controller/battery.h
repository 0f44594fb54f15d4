// What a battery holds and gives, as the newest readings of its gauge tell.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "controller/clock.h"
#include "controller/event.h"

namespace gearshift {

inline constexpr double kJoulesInWh = 3600;

// Voltage and current move with the power, and at once: what they were so long ago says nothing of
// what they are.
inline constexpr Duration kTerminalsStaleAfter = std::chrono::seconds(10);

// What the gauge does not tell is absent. Trivially copyable.
struct Battery {
  std::optional<double> energy_wh{};    // that is left
  std::optional<double> capacity_wh{};  // of the full battery
  std::optional<double> voltage_v{};    // at its terminals
  std::optional<double> current_a{};    // out of it; negative while it charges
  Time taken{};                         // when the newest energy was read
  Time voltage_taken{};
  Time current_taken{};
  bool estimate = false;  // the energy is added up, not read from a gauge

  bool known() const { return energy_wh.has_value(); }
  bool charging() const { return current_a.value_or(0) < 0; }
  // Takes over a reading of the battery that is ok. By any reading, of whatever and in whatever
  // state, voltage and current that are older than 10 s by then are known no more.
  void add(const Reading& reading);
};

// Appends what is known as readings taken at `taken`, at most four.
void append_readings(const Battery& battery, Time taken, std::vector<Reading>& readings);

}  // namespace gearshift

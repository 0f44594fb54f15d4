// Quantities as people type and read them: a number and its unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/clock.h"

namespace gearshift {

// A space may stand before the unit. All throw std::invalid_argument naming the text and the
// allowed forms.

// "30W", "25.5 W", "800mW", "1.2kW": milliwatts, rounded to the nearest; 10 mW to 100 kW.
std::int64_t parse_power_mw(std::string_view text);
// The same of a cap, or "none": nullopt.
std::optional<std::int64_t> parse_cap_mw(std::string_view text);
// "100ms", "60s", "5m", "2h": 0 to 366 days (8784 h).
Duration parse_duration(std::string_view text);
// "100ms": a limit, which none can be kept of 0.
Duration parse_latency(std::string_view text);
// "08:00", "23:59:30": since midnight, below 24 hours.
Duration parse_time_of_day(std::string_view text);
// "2J", "500mJ", "1.5kJ": joules, above 0, at most 10^9.
double parse_energy_j(std::string_view text);
// "10Wh", "500mWh", "1.2kWh": watt hours, above 0, at most 1 MWh.
double parse_energy_wh(std::string_view text);
// "9.5V", "9500mV": volts, above 0, at most 1000 V.
double parse_voltage_v(std::string_view text);
// "70C", in Celsius: 20 to 150.
double parse_temperature_c(std::string_view text);
// "0.75": the share of energy in a cost, 0 to 1.
double parse_energy_weight(std::string_view text);
// "60", "0.5": a second, above 0, at most 10^9.
double parse_rate(std::string_view text);
// "50%", "12.5 %": percent, 0 to 100.
double parse_percent(std::string_view text);

// "61.2 ms".
std::string milliseconds_text(Duration duration);

}  // namespace gearshift

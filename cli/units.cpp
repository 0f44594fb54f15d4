#include "cli/units.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

struct Scale {
  std::string_view unit;
  double factor;  // of one unit, in what the caller counts
};

[[noreturn]] void fail(std::string_view text, std::string_view allowed) {
  throw std::invalid_argument("'" + std::string(text) + "': give " + std::string(allowed));
}

// A plain decimal number, then one of the units. Signs, exponents, inf and nan are no numbers here.
double parse(std::string_view text, std::initializer_list<Scale> scales, std::string_view allowed) {
  double number = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') fail(text, allowed);
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc()) fail(text, allowed);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Scale& scale : scales) {
    if (unit == scale.unit) return number * scale.factor;
  }
  fail(text, allowed);
}

// No board draws less, and the loop has words that are caps of 1 and 2 mW
// (controller/limit_source.h).
constexpr double kLeastPowerMw = 10;

std::int64_t power_of(std::string_view text, std::string_view allowed) {
  const double power_mw = std::round(parse(text, {{"W", 1e3}, {"mW", 1}, {"kW", 1e6}}, allowed));
  if (power_mw < kLeastPowerMw || power_mw > 1e8) fail(text, allowed);
  return static_cast<std::int64_t>(power_mw);
}

}  // namespace

std::int64_t parse_power_mw(std::string_view text) {
  return power_of(text, "a power of 10mW to 100 kW, like 30W, 25.5W, 800mW or 1.2kW");
}

// "None" is what a script prints that has lost its cap: not taken for the word.
std::optional<std::int64_t> parse_cap_mw(std::string_view text) {
  if (text == "none") return std::nullopt;
  return power_of(text,
                  "a power of 10mW to 100 kW, like 30W, 25.5W or 800mW, or none to lift the "
                  "cap");
}

Duration parse_duration(std::string_view text) {
  constexpr std::string_view kAllowed = "a time of up to 8784h, like 100ms, 60s, 5m or 2h";
  const double nanoseconds =
      std::round(parse(text, {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}, kAllowed));
  if (nanoseconds > 8784 * 3600e9) fail(text, kAllowed);
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

Duration parse_latency(std::string_view text) {
  const Duration latency = parse_duration(text);
  if (latency > Duration::zero()) return latency;
  throw std::invalid_argument("'" + std::string(text) +
                              "': give a time above 0; without the flag there is no limit");
}

Duration parse_time_of_day(std::string_view text) {
  constexpr std::string_view kAllowed = "a time of day from 00:00 to 23:59:59, like 08:00";
  if (text.size() != 5 && text.size() != 8) fail(text, kAllowed);
  int parts[3] = {0, 0, 0};
  for (std::size_t i = 0; 3 * i < text.size(); ++i) {
    const char* const begin = text.data() + 3 * i;
    const bool digits = begin[0] >= '0' && begin[0] <= '9' && begin[1] >= '0' && begin[1] <= '9';
    const bool last = 3 * i + 2 == text.size();
    if (!digits || (!last && begin[2] != ':')) fail(text, kAllowed);
    parts[i] = 10 * (begin[0] - '0') + (begin[1] - '0');
  }
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) fail(text, kAllowed);
  return std::chrono::hours(parts[0]) + std::chrono::minutes(parts[1]) +
         std::chrono::seconds(parts[2]);
}

double parse_energy_j(std::string_view text) {
  constexpr std::string_view kAllowed = "an energy above 0 and up to 10^9 J, like 2J or 500mJ";
  const double energy_j = parse(text, {{"J", 1}, {"mJ", 1e-3}, {"kJ", 1e3}}, kAllowed);
  if (energy_j <= 0 || energy_j > 1e9) fail(text, kAllowed);
  return energy_j;
}

double parse_energy_wh(std::string_view text) {
  constexpr std::string_view kAllowed = "an energy above 0 and up to 1000kWh, like 10Wh or 500mWh";
  const double energy_wh = parse(text, {{"Wh", 1}, {"mWh", 1e-3}, {"kWh", 1e3}}, kAllowed);
  if (energy_wh <= 0 || energy_wh > 1e6) fail(text, kAllowed);
  return energy_wh;
}

double parse_voltage_v(std::string_view text) {
  constexpr std::string_view kAllowed = "a voltage above 0 and up to 1000V, like 9.5V or 9500mV";
  const double voltage_v = parse(text, {{"V", 1}, {"mV", 1e-3}}, kAllowed);
  if (voltage_v <= 0 || voltage_v > 1000) fail(text, kAllowed);
  return voltage_v;
}

double parse_temperature_c(std::string_view text) {
  constexpr std::string_view kAllowed = "a temperature from 20C to 150C, like 70C or 62.5C";
  const double temperature_c = parse(text, {{"C", 1}}, kAllowed);
  if (temperature_c < 20 || temperature_c > 150) fail(text, kAllowed);
  return temperature_c;
}

double parse_energy_weight(std::string_view text) {
  constexpr std::string_view kAllowed = "a number from 0 (time alone) to 1 (energy alone)";
  const double weight = parse(text, {{"", 1}}, kAllowed);
  if (weight > 1) fail(text, kAllowed);
  return weight;
}

double parse_rate(std::string_view text) {
  constexpr std::string_view kAllowed = "a number a second, above 0 and up to 10^9, like 60";
  const double rate = parse(text, {{"", 1}}, kAllowed);
  if (rate <= 0 || rate > 1e9) fail(text, kAllowed);
  return rate;
}

double parse_percent(std::string_view text) {
  constexpr std::string_view kAllowed = "a share from 0% to 100%, like 50% or 12.5%";
  const double percent = parse(text, {{"%", 1}}, kAllowed);
  if (percent > 100) fail(text, kAllowed);
  return percent;
}

std::string milliseconds_text(Duration duration) {
  return fmt::format("{:.1f} ms", seconds(duration) * 1e3);
}

}  // namespace gearshift

#include "trace/irradiance_csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace gearshift {
namespace {

constexpr double kMostIrradianceSeconds = 366 * 86400.0;
constexpr double kMostIrradiance = 2000;  // above the sun's outside the atmosphere

std::size_t place_of(const CsvLines& lines, const char* column, const char* meaning) {
  const auto found = std::find(lines.fields().begin(), lines.fields().end(), column);
  if (found == lines.fields().end()) {
    lines.fail("column " + std::string(column) + " is missing: " + meaning);
  }
  return static_cast<std::size_t>(found - lines.fields().begin());
}

double number(const CsvLines& lines, const char* column, std::size_t place, double most) {
  const std::string& text = lines.fields()[place];
  double value = -1;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value >= 0 && value <= most)) {
    lines.fail(std::string(column) + " = '" + printable(text) + "': must be a number from 0 to " +
               std::to_string(std::llround(most)));
  }
  return value;
}

}  // namespace

std::vector<Irradiance> parse_irradiance(std::string_view text, std::string_view source) {
  CsvLines lines(text, source);
  if (!lines.next()) lines.fail_at(1, "a first line that names the columns is missing");
  const std::size_t columns = lines.fields().size();
  const std::size_t time = place_of(lines, "t_s", "seconds since the day's beginning");
  const std::size_t irradiance = place_of(lines, "ghi_w_m2", "W/m2 on level ground");
  std::vector<Irradiance> day;
  while (lines.next()) {
    if (lines.fields().size() != columns) {
      lines.fail("the line has " + std::to_string(lines.fields().size()) +
                 " fields; the first line names " + std::to_string(columns));
    }
    if (day.size() == kMostIrradianceRows) {
      lines.fail("more than " + std::to_string(kMostIrradianceRows) + " lines; thin the file out");
    }
    const Duration after(
        std::llround(number(lines, "t_s", time, kMostIrradianceSeconds) * kNsInSecond));
    if (!day.empty() && after <= day.back().after) {
      lines.fail("t_s = '" + printable(lines.fields()[time]) +
                 "': is not after the line above it; sort the file by time");
    }
    day.push_back({after, number(lines, "ghi_w_m2", irradiance, kMostIrradiance)});
  }
  if (day.empty()) lines.fail("at least one line is needed below the first");
  return day;
}

std::vector<Irradiance> read_irradiance(const std::filesystem::path& path) {
  return parse_irradiance(read_csv_text(path, kMostIrradianceBytes), path.string());
}

}  // namespace gearshift

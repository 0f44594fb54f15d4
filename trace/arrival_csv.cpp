#include "trace/arrival_csv.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>

namespace gearshift {
namespace {

constexpr double kMostSeconds = 4e9;  // dates since 1970 are seconds too

Duration read_time(const CsvLines& lines, const std::string& text) {
  double value = -1;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !(value >= 0 && value <= kMostSeconds)) {
    lines.fail("t_s = '" + printable(text) + "': must be seconds from 0 to 4000000000");
  }
  // A date in nanoseconds has more digits than a double.
  const double whole = std::floor(value);
  return std::chrono::seconds(static_cast<std::int64_t>(whole)) +
         Duration(std::llround((value - whole) * kNsInSecond));
}

}  // namespace

std::vector<Duration> parse_arrival_times(std::string_view text, std::string_view source) {
  CsvLines lines(text, source);
  if (!lines.next()) lines.fail_at(1, "a first line that names the columns is missing");
  const std::size_t columns = lines.fields().size();
  const auto found = std::find(lines.fields().begin(), lines.fields().end(), "t_s");
  if (found == lines.fields().end()) lines.fail("column t_s is missing: when a request came");
  const auto place = static_cast<std::size_t>(found - lines.fields().begin());
  std::vector<Duration> times;
  while (lines.next()) {
    if (lines.fields().size() != columns) {
      lines.fail("the line has " + std::to_string(lines.fields().size()) +
                 " fields; the first line names " + std::to_string(columns));
    }
    if (times.size() == kMostArrivals) {
      lines.fail("more than " + std::to_string(kMostArrivals) + " requests; cut the file");
    }
    const Duration time = read_time(lines, lines.fields()[place]);
    if (!times.empty() && time < times.back()) {
      lines.fail("t_s = '" + printable(lines.fields()[place]) +
                 "': is before the line above it; sort the file by time");
    }
    times.push_back(time);
  }
  if (times.size() < 2 || times.front() == times.back()) {
    lines.fail("at least two requests at different times are needed");
  }
  return times;
}

std::vector<Duration> read_arrival_times(const std::filesystem::path& path) {
  return parse_arrival_times(read_csv_text(path, kMostArrivalBytes), path.string());
}

}  // namespace gearshift

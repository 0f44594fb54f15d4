// Logs of NVIDIA's tegrastats, as samples and as CSV: what other people's measurements come in.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/clock.h"

namespace gearshift {

// A log that cannot be used: what() has its name, and what a line looks like.
struct TegrastatsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One core as a line tells it; nullopt: off.
struct TegrastatsCore {
  std::int64_t load_percent = 0;
  std::int64_t clock_mhz = 0;  // rounded down by tegrastats
};

// One line. Only the first number of a rail is kept: the second is tegrastats' own mean since it
// was started, or on some boards the peak.
struct TegrastatsSample {
  // Seconds of local time since 1970, without a zone; nullopt where the line has none.
  std::optional<std::int64_t> stamp_s;
  std::optional<std::int64_t> ram_mb;  // in use
  std::vector<std::optional<TegrastatsCore>> cores;
  std::optional<std::int64_t> gpu_percent;
  std::optional<std::int64_t> gpu_mhz;  // the fastest of its clusters
  std::optional<std::int64_t> emc_percent;
  std::optional<std::int64_t> emc_mhz;
  std::vector<std::pair<std::string, double>> temperatures;    // degrees Celsius
  std::vector<std::pair<std::string, std::int64_t>> rails_mw;  // unconnected ones left out
};

// Nullopt where the line is none of tegrastats': it tells neither memory nor a rail. Items that
// no version is known to write are passed over.
std::optional<TegrastatsSample> parse_tegrastats(std::string_view line);

struct TegrastatsLog {
  std::vector<TegrastatsSample> samples;
  std::size_t other_lines = 0;
};
// At most kMostTegrastatsLines lines of at most 64 KiB. Throws TegrastatsError where no line is a
// sample, or a bound is passed; `source` names the log. Of a last line that no newline ends the
// last word is left out: power was lost in it, or somebody cut it.
inline constexpr std::size_t kMostTegrastatsLines = 1 << 20;
TegrastatsLog read_tegrastats(std::istream& in, std::string_view source);

// The rails whose sum is the power of the whole board.
using TotalRails = std::vector<std::string>;

// True where the log has every rail of the rule.
bool has_rails(const TegrastatsLog& log, const TotalRails& rule);

// How many samples have no date that can be read, though others have one: nobody can tell whether
// time went on as usual between the two. 0 where none has one.
std::size_t undated_samples(const TegrastatsLog& log);

// How many dates are before the one above them: a clock that was set, or two logs in one file.
std::size_t dates_that_go_back(const TegrastatsLog& log);

// time_s, power_w, a column a rail (RAIL_w), a zone (ZONE_c), then cpu_cores, cpu_percent, cpu_mhz
// (means over the cores that are on), gpu_percent, gpu_mhz, emc_percent, emc_mhz, ram_mb. Where any
// line has a date, time counts from the first such line, and is empty for undated_samples(); lines
// of one second are `interval` apart, or evenly within it where that is less. Where none has one it
// counts from the first line, `interval` a line. power_w is empty where `total` is, or where a
// line lacks one of its rails.
void write_tegrastats_csv(const TegrastatsLog& log, const TotalRails& total, Duration interval,
                          std::ostream& out);

}  // namespace gearshift

// The columns of an imported log are those that occur in it, in the order of their first line.
#include <algorithm>
#include <ostream>

#include "trace/csv_text.h"
#include "trace/tegrastats.h"

namespace gearshift {
namespace {

template <typename Value>
const Value* find(const std::vector<std::pair<std::string, Value>>& list, const std::string& name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.first == name; });
  return found == list.end() ? nullptr : &found->second;
}

// A log of one board has few names; one made up to have many is cut off here.
constexpr std::size_t kMostColumns = 256;

template <typename Value>
void add_names(const std::vector<std::pair<std::string, Value>>& list,
               std::vector<std::string>& names) {
  for (const auto& [name, value] : list) {
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    if (!known && names.size() < kMostColumns) names.push_back(name);
  }
}

std::optional<std::int64_t> total_mw(const TegrastatsSample& sample, const TotalRails& total) {
  if (total.empty()) return std::nullopt;
  std::int64_t sum = 0;
  for (const std::string& rail : total) {
    const std::int64_t* power = find(sample.rails_mw, rail);
    if (power == nullptr) return std::nullopt;
    sum += *power;
  }
  return sum;
}

void write_optional(const std::optional<std::int64_t>& value, std::ostream& out) {
  out << ',';
  if (value) out << *value;
}

void write_watts(const std::optional<std::int64_t>& power_mw, std::ostream& out) {
  out << ',';
  if (power_mw) out << shortest_text(static_cast<double>(*power_mw) / 1e3);
}

void write_cores(const TegrastatsSample& sample, std::ostream& out) {
  std::int64_t on = 0;
  double load = 0;
  double clock = 0;
  for (const auto& core : sample.cores) {
    if (!core) continue;
    ++on;
    load += static_cast<double>(core->load_percent);
    clock += static_cast<double>(core->clock_mhz);
  }
  if (on == 0) {
    out << ",,,";
    return;
  }
  const auto count = static_cast<double>(on);
  out << ',' << on << ',' << shortest_text(load / count) << ',' << shortest_text(clock / count);
}

// Dates are of whole seconds: what shares one is spread over it.
std::vector<std::optional<double>> times_s(const TegrastatsLog& log, Duration interval) {
  std::vector<std::optional<double>> times(log.samples.size());
  std::vector<std::size_t> dated;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (log.samples[i].stamp_s) dated.push_back(i);
  }
  if (dated.empty()) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i] = static_cast<double>(i) * seconds(interval);
    }
    return times;
  }
  const std::int64_t first_s = *log.samples[dated.front()].stamp_s;
  for (std::size_t i = 0, next = 0; i < dated.size(); i = next) {
    const std::int64_t stamp_s = *log.samples[dated[i]].stamp_s;
    while (next < dated.size() && *log.samples[dated[next]].stamp_s == stamp_s) ++next;
    const double apart_s = std::min(seconds(interval), 1 / static_cast<double>(next - i));
    for (std::size_t k = i; k < next; ++k) {
      times[dated[k]] =
          static_cast<double>(stamp_s - first_s) + static_cast<double>(k - i) * apart_s;
    }
  }
  return times;
}

// Whole seconds as such: the shortest text of a hundred thousand is 1e+05.
void write_time(double time_s, std::ostream& out) {
  const auto whole = static_cast<std::int64_t>(time_s);
  if (static_cast<double>(whole) == time_s) {
    out << whole;
  } else {
    out << shortest_text(time_s);
  }
}

}  // namespace

std::size_t dates_that_go_back(const TegrastatsLog& log) {
  std::size_t count = 0;
  std::optional<std::int64_t> before_s;
  for (const TegrastatsSample& sample : log.samples) {
    if (!sample.stamp_s) continue;
    if (before_s && *sample.stamp_s < *before_s) ++count;
    before_s = sample.stamp_s;
  }
  return count;
}

std::size_t undated_samples(const TegrastatsLog& log) {
  const auto undated =
      std::count_if(log.samples.begin(), log.samples.end(),
                    [](const TegrastatsSample& sample) { return !sample.stamp_s.has_value(); });
  const auto count = static_cast<std::size_t>(undated);
  return count == log.samples.size() ? 0 : count;
}

bool has_rails(const TegrastatsLog& log, const TotalRails& rule) {
  return std::any_of(log.samples.begin(), log.samples.end(),
                     [&](const auto& sample) { return total_mw(sample, rule).has_value(); });
}

void write_tegrastats_csv(const TegrastatsLog& log, const TotalRails& total, Duration interval,
                          std::ostream& out) {
  std::vector<std::string> rails;
  std::vector<std::string> zones;
  for (const TegrastatsSample& sample : log.samples) {
    add_names(sample.rails_mw, rails);
    add_names(sample.temperatures, zones);
  }
  out << "time_s,power_w";
  for (const std::string& rail : rails) out << ',' << csv_field(rail + "_w");
  for (const std::string& zone : zones) out << ',' << csv_field(zone + "_c");
  out << ",cpu_cores,cpu_percent,cpu_mhz,gpu_percent,gpu_mhz,emc_percent,emc_mhz,ram_mb\n";
  const std::vector<std::optional<double>> times = times_s(log, interval);
  for (std::size_t line = 0; line < times.size(); ++line) {
    const TegrastatsSample& sample = log.samples[line];
    if (times[line]) write_time(*times[line], out);
    write_watts(total_mw(sample, total), out);
    for (const std::string& rail : rails) {
      const std::int64_t* power = find(sample.rails_mw, rail);
      write_watts(power == nullptr ? std::nullopt : std::optional(*power), out);
    }
    for (const std::string& zone : zones) {
      out << ',';
      if (const double* value = find(sample.temperatures, zone)) out << shortest_text(*value);
    }
    write_cores(sample, out);
    write_optional(sample.gpu_percent, out);
    write_optional(sample.gpu_mhz, out);
    write_optional(sample.emc_percent, out);
    write_optional(sample.emc_mhz, out);
    write_optional(sample.ram_mb, out);
    out << '\n';
  }
}

}  // namespace gearshift

#include "sensors/ina3221_averaging.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "sensors/hwmon.h"

namespace gearshift {
namespace {

// What the chip can be set to (its data sheet; both times are set alike by the driver).
constexpr std::array kConversionsUs = {140, 204, 332, 588, 1100, 2116, 4156, 8244};
constexpr std::int64_t kMostSamples = 1024;
constexpr double kIntervalError = 1;   // ms; update_interval is rounded to whole ones
constexpr double kAboutTheSame = 0.1;  // of a mean's length

std::optional<std::int64_t> number(Sysroot& root, const std::string& path) {
  std::optional<DeviceFile> file = root.try_open(path);
  return file ? file->try_read_integer() : std::nullopt;
}

// One monitor that reads a rail of the total.
struct Monitor {
  std::string folder;
  std::int64_t samples = 0;
  std::optional<std::int64_t> interval_ms;
  double mean_ms = 0;
};

// Drivers since Linux 5.14 tell the interval of one sample, those before it that of all.
double mean_ms(int channels, std::int64_t samples, std::optional<std::int64_t> interval_ms) {
  const auto count = static_cast<double>(samples);
  const double fastest_ms = 2 * channels * kConversionsUs.front() * count / 1000;
  if (!interval_ms) return fastest_ms;
  const auto told_ms = static_cast<double>(*interval_ms);
  for (const double samples_told : {count, 1.0}) {
    std::optional<double> nearest_ms;
    for (const int conversion_us : kConversionsUs) {
      const double one_ms = 2.0 * channels * conversion_us / 1000;
      const auto off_ms = [&](double ms) { return std::abs(samples_told * ms - told_ms); };
      if (off_ms(one_ms) < kIntervalError && (!nearest_ms || off_ms(one_ms) < off_ms(*nearest_ms)))
        nearest_ms = one_ms;
    }
    if (nearest_ms) return count * *nearest_ms;
  }
  return told_ms >= fastest_ms ? told_ms : told_ms * count;
}

bool reads_total(const PowerDescription& power, const Sysroot& root, const std::string& folder) {
  for (const char channel : {'1', '2', '3'}) {
    const std::optional<std::string> label = root.try_read(folder + "/in" + channel + "_label");
    for (const RailDescription& rail : power.rails) {
      if (rail.sign != 0 && label == rail.label) return true;
    }
  }
  return false;
}

std::vector<Monitor> find_monitors(const PowerDescription& power, Sysroot& root) {
  std::vector<Monitor> monitors;
  for (const std::string& entry : root.list(kHwmon)) {
    const std::string folder = std::string(kHwmon) + '/' + entry;
    if (!root.try_read(folder + "/name").value_or("").starts_with("ina3221")) continue;
    if (!reads_total(power, root, folder)) continue;
    const std::optional<std::int64_t> samples = number(root, folder + "/samples");
    if (!samples || *samples < 1 || *samples > kMostSamples) continue;
    int channels = 0;
    for (const char channel : {'1', '2', '3'}) {
      channels += number(root, folder + "/in" + channel + "_enable").value_or(1) != 0 ? 1 : 0;
    }
    std::optional<std::int64_t> interval_ms = number(root, folder + "/update_interval");
    if (interval_ms && *interval_ms < 1) interval_ms.reset();
    monitors.push_back(
        {folder, *samples, interval_ms, mean_ms(std::max(1, channels), *samples, interval_ms)});
  }
  return monitors;
}

std::string milliseconds_text(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 10 ? "%.1f ms" : "%.0f ms", ms);
  return text;
}

std::string finding_of(const Monitor& monitor, double window_ms) {
  const std::string interval =
      monitor.interval_ms ? ", update_interval " + std::to_string(*monitor.interval_ms) : "";
  return "power: the ina3221 at " + monitor.folder + " averages over " +
         milliseconds_text(monitor.mean_ms) + " (samples " + std::to_string(monitor.samples) +
         interval + ") and not over the " + milliseconds_text(window_ms) +
         " of the board file: it is taken as it is, and readings vary more or lag more; the way "
         "out is what NVIDIA's images set at boot, as root: echo 512 > " +
         monitor.folder + "/samples";
}

bool about_the_same(double a, double b) { return std::abs(a - b) <= kAboutTheSame * b; }

}  // namespace

std::optional<PowerAveraging> told_averaging(const PowerDescription& power, Sysroot& root,
                                             std::vector<std::string>& findings) {
  const std::vector<Monitor> monitors = find_monitors(power, root);
  const double window_ms = 1000 * seconds(power.window);
  double shortest_ms = window_ms;
  double longest_ms = 0;
  bool differs = false;
  for (const Monitor& monitor : monitors) {
    shortest_ms = std::min(longest_ms == 0 ? monitor.mean_ms : shortest_ms, monitor.mean_ms);
    longest_ms = std::max(longest_ms, monitor.mean_ms);
    if (about_the_same(monitor.mean_ms, window_ms)) continue;
    differs = true;
    findings.push_back(finding_of(monitor, window_ms));
  }
  if (!differs) return std::nullopt;
  const Duration longest{std::llround(longest_ms * kNsInMs)};
  PowerAveraging told{.window = std::max(power.window, longest)};
  if (longest >= power.period && about_the_same(shortest_ms, longest_ms)) told.averaging = longest;
  return told;
}

}  // namespace gearshift

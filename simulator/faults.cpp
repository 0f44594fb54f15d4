#include "simulator/faults.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "simulator/rail_sample.h"

namespace gearshift {
namespace {

constexpr std::string_view kFaultsFolder = "/.virtual/faults/";
constexpr std::int64_t kLongestBlockMs = 10'000;
constexpr std::int64_t kLeastClockPercent = 10;
constexpr std::int64_t kShortestPeriodMs = 1;
constexpr std::int64_t kLongestPeriodMs = 3'600'000;

constexpr std::string_view kReadme =
    R"(Each file here switches one fault on. Write "" or "none" to switch it off (0 where it takes a
number, 100 where that is a share); read it to see what is set.

ignore_gpu_clock   0, 1 or 2   1: GPU limits are taken, but its clock stays as it is
                               2: writes to the GPU limits succeed and change nothing
ignore_cpu_clock   0, 1 or 2   the same for every CPU cluster
forget_limits      0 or 1      a cluster whose last core went offline comes back with its
                               default limits
stale_cpufreq      0 or 1      a cluster with no core online shows what it last held and
                               refuses writes with EINVAL, as Linux does before 5.19; else
                               reads and writes fail with EBUSY
dead_channel       LABEL       reads of this rail fail with ENODATA: VDD_GPU_SOC, VDD_CPU_CV,
                               VIN_SYS_5V0 or VDDQ_VDD2_1V8AO
sensor_stuck       0 or 1      every rail repeats what it reads now
sensor_garbage     0 or 1      what every rail reads is no number
sensor_absurd      MILLIAMPS   every rail reads this current; may be negative
outside_writer     PATH VALUE PERIOD_MS    another program writes VALUE to PATH, at once
                               and every PERIOD_MS from then on
eacces             PATH [read] PATH and everything below it cannot be written (with "read":
                               nor read)
eio                PATH        reads and writes at and below PATH fail with EIO
ebusy              PATH        writes at and below PATH fail with EBUSY
enoent             PATH        PATH and everything below it is not there
clock_percent      10 to 100   CPU and GPU run at this share of their clocks, as a throttled board
                               does; cur_freq and scaling_cur_freq do not show it
heat_percent       10 to 100   heat slows the board down: limits of CPU and GPU read no more than
                               this share of the highest clock, whatever was written, and
                               the cooling devices that do it are at work
block_read_ms      MILLISECONDS            how long each read of a power rail takes

Example: echo VDD_GPU_SOC > dead_channel
)";

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  std::string word;
  for (const char letter : text) {
    if (letter != ' ' && letter != '\t') {
      word += letter;
    } else if (!word.empty()) {
      list.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) list.push_back(word);
  return list;
}

bool switches_off(std::string_view text) { return text.empty() || text == "none"; }

bool is_rail(std::string_view label) {
  for (std::size_t rail = 0; rail < kRails; ++rail) {
    if (rail_label(static_cast<Rail>(rail)) == label) return true;
  }
  return false;
}

FileText shown(std::string_view text) { return line(text.empty() ? "none" : text); }

void add_switch(BoardTree& tree, std::string_view name, bool& value) {
  tree.add_file(
      std::string(kFaultsFolder) + std::string(name), 0644,
      [&value] { return line(value ? 1 : 0); },
      [&value](std::string_view text) {
        if (text != "0" && text != "1") return EINVAL;
        value = text == "1";
        return 0;
      });
}

void add_ignored_clock(BoardTree& tree, std::string_view name, IgnoredClock& value) {
  tree.add_file(
      std::string(kFaultsFolder) + std::string(name), 0644,
      [&value] { return line(static_cast<std::int64_t>(value)); },
      [&value](std::string_view text) {
        const std::optional<std::int64_t> wanted = whole_integer(text);
        if (!wanted || *wanted < 0 || *wanted > 2) return EINVAL;
        value = static_cast<IgnoredClock>(*wanted);
        return 0;
      });
}

// A path is kept without links, because that is how nodes know theirs.
std::optional<std::string> real_path(const BoardTree& tree, const std::string& path) {
  const BoardNode* node = tree.follow(path);
  if (!node || at_or_below(node->path, "/.virtual")) return std::nullopt;
  return node->path;
}

void add_path(BoardTree& tree, std::string_view name, std::string& value) {
  tree.add_file(
      std::string(kFaultsFolder) + std::string(name), 0644, [&value] { return shown(value); },
      [&tree, &value](std::string_view text) {
        if (switches_off(text)) {
          value.clear();
          return 0;
        }
        const std::optional<std::string> path = real_path(tree, std::string(text));
        if (!path) return EINVAL;
        value = *path;
        return 0;
      });
}

int parse_closed(Faults& faults, const BoardTree& tree, std::string_view text) {
  const std::vector<std::string> parts = words(text);
  if (switches_off(text)) {
    faults.closed_path.clear();
    return 0;
  }
  const std::optional<std::string> path = real_path(tree, parts[0]);
  if (!path || parts.size() > 2 || (parts.size() == 2 && parts[1] != "read")) return EINVAL;
  faults.closed_path = *path;
  faults.closed_to_readers = parts.size() == 2;
  return 0;
}

int parse_outside_writer(OutsideWriter& writer, const BoardTree& tree, std::string_view text) {
  if (switches_off(text)) {
    writer.path.clear();
    return 0;
  }
  const std::vector<std::string> parts = words(text);
  if (parts.size() != 3) return EINVAL;
  const std::optional<std::string> path = real_path(tree, parts[0]);
  const std::optional<std::int64_t> period = whole_integer(parts[2]);
  if (!path || !period || *period < kShortestPeriodMs || *period > kLongestPeriodMs) return EINVAL;
  writer = {*path, parts[1], std::chrono::milliseconds(*period), writer.generation + 1};
  return 0;
}

int parse_absurd(std::optional<std::int64_t>& current_ma, std::string_view text) {
  if (switches_off(text)) {
    current_ma.reset();
    return 0;
  }
  const std::optional<std::int64_t> wanted = whole_integer(text);
  if (!wanted) return EINVAL;
  current_ma = wanted;
  return 0;
}

}  // namespace

bool at_or_below(std::string_view path, std::string_view top) {
  return !top.empty() && path.starts_with(top) &&
         (path.size() == top.size() || path[top.size()] == '/');
}

void Faults::add_files(BoardTree& tree) {
  const std::string folder(kFaultsFolder);
  tree.add_file(folder + "README", 0444, [] { return FileText{std::string(kReadme)}; });
  add_ignored_clock(tree, "ignore_gpu_clock", ignore_gpu_clock);
  add_ignored_clock(tree, "ignore_cpu_clock", ignore_cpu_clock);
  add_switch(tree, "forget_limits", forget_limits);
  add_switch(tree, "stale_cpufreq", stale_cpufreq);
  add_switch(tree, "sensor_stuck", sensor_stuck);
  add_switch(tree, "sensor_garbage", sensor_garbage);
  add_path(tree, "eio", broken_path);
  add_path(tree, "ebusy", busy_path);
  add_path(tree, "enoent", missing_path);
  tree.add_number(folder + "clock_percent", clock_percent,
                  [](std::int64_t value) { return value >= kLeastClockPercent && value <= 100; });
  tree.add_number(folder + "heat_percent", heat_percent,
                  [](std::int64_t value) { return value >= kLeastClockPercent && value <= 100; });
  tree.add_number(folder + "block_read_ms", block_read_ms,
                  [](std::int64_t value) { return value >= 0 && value <= kLongestBlockMs; });
  tree.add_file(
      folder + "dead_channel", 0644, [this] { return shown(dead_channel); },
      [this](std::string_view text) {
        if (!switches_off(text) && !is_rail(text)) return EINVAL;
        dead_channel = switches_off(text) ? "" : std::string(text);
        return 0;
      });
  tree.add_file(
      folder + "sensor_absurd", 0644,
      [this] { return sensor_absurd_ma ? line(*sensor_absurd_ma) : line("none"); },
      [this](std::string_view text) { return parse_absurd(sensor_absurd_ma, text); });
  tree.add_file(
      folder + "eacces", 0644,
      [this] {
        const bool all = !closed_path.empty() && closed_to_readers;
        return shown(closed_path + (all ? " read" : ""));
      },
      [this, &tree](std::string_view text) { return parse_closed(*this, tree, text); });
  tree.add_file(
      folder + "outside_writer", 0644,
      [this] {
        if (outside_writer.path.empty()) return line("none");
        const auto period =
            std::chrono::duration_cast<std::chrono::milliseconds>(outside_writer.period);
        return line(outside_writer.path + ' ' + outside_writer.value + ' ' +
                    std::to_string(period.count()));
      },
      [this, &tree](std::string_view text) {
        return parse_outside_writer(outside_writer, tree, text);
      });
}

}  // namespace gearshift

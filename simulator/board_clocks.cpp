#include "simulator/board_clocks.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "boards/clock_units.h"

namespace gearshift {
namespace {

constexpr std::string_view kCpu = "/sys/devices/system/cpu";
constexpr std::string_view kDevfreq = "/sys/class/devfreq";
constexpr std::string_view kMemoryRate = "/sys/kernel/debug/bpmp/debug/clk/emc/rate";
constexpr std::string_view kClockPercent = "/.virtual/faults/clock_percent";
constexpr double kHzInGhz = 1e9;
constexpr std::size_t kMostCores = 1024;

// "0-3,5" or "0 1 2 3": the kernel writes sets of cores both ways.
void parse_cores(std::string_view text, std::vector<std::size_t>& cores) {
  cores.clear();
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    std::size_t first = 0;
    auto [next, error] = std::from_chars(at, end, first);
    if (error != std::errc()) return;
    std::size_t last = first;
    if (next < end && *next == '-') {
      const auto range = std::from_chars(next + 1, end, last);
      if (range.ec != std::errc()) return;
      next = range.ptr;
    }
    for (std::size_t core = first; core <= last && cores.size() < kMostCores; ++core) {
      cores.push_back(core);
    }
    at = next + 1;  // behind the comma or blank
  }
}

std::optional<DeviceFile> open_gpu(const BoardDescription& board, Sysroot& root) {
  const auto knob = std::find_if(board.knobs.begin(), board.knobs.end(), [](const auto& candidate) {
    return candidate.driver == KnobDriver::gpu_devfreq;
  });
  if (knob == board.knobs.end()) return std::nullopt;
  for (const std::string& name : root.list(kDevfreq)) {
    const std::string folder = std::string(kDevfreq) + '/' + name;
    const std::string node = root.try_read(folder + "/device/of_node/name").value_or("");
    const auto& names = knob->device_names;
    if (std::find(names.begin(), names.end(), node) != names.end()) {
      return root.open(folder + "/cur_freq");
    }
  }
  throw FileError("no GPU among the devices of " + root.prefix().string() + std::string(kDevfreq),
                  ENODEV);
}

}  // namespace

BoardClocks::BoardClocks(const BoardDescription& board, Sysroot& root) {
  const KnobSpace space = board.knob_space();
  mode_ = model_mode(space, space.highest(), {});
  const std::string cpu(kCpu);
  online_file_ = root.open(cpu + "/online");
  for (const std::string& name : root.list(cpu + "/cpufreq")) {
    if (!name.starts_with("policy")) continue;
    // A cluster that sleeps answers EBUSY, and its first core is in its name.
    const std::string folder = cpu + "/cpufreq/" + name;
    std::vector<std::size_t> cores;
    parse_cores(root.try_read(folder + "/related_cpus").value_or(""), cores);
    if (cores.empty()) parse_cores(name.substr(std::string_view("policy").size()), cores);
    clusters_.push_back({std::move(cores), root.open(folder + "/scaling_cur_freq")});
  }
  if (clusters_.empty()) {
    throw FileError("no cpufreq policy below " + root.prefix().string() + cpu, ENODEV);
  }
  gpu_hz_ = open_gpu(board, root);
  try {
    memory_hz_ = root.open(kMemoryRate);
  } catch (const FileError&) {
    memory_hz_.reset();
  }
  if (root.exists(kClockPercent)) clock_percent_ = root.open(kClockPercent);
}

const ModelMode& BoardClocks::read() {
  try {
    parse_cores(online_file_->read(), online_);
  } catch (const FileError&) {
    return mode_;
  }
  if (!online_.empty()) mode_.cpu_cores = static_cast<double>(online_.size());
  double sum_khz = 0;
  double counted = 0;
  for (Cluster& cluster : clusters_) {
    const auto cores = std::count_if(cluster.cores.begin(), cluster.cores.end(), [&](auto core) {
      return std::find(online_.begin(), online_.end(), core) != online_.end();
    });
    if (cores == 0) continue;
    const std::optional<std::int64_t> khz = cluster.clock_khz.try_read_integer();
    if (!khz || *khz <= 0) continue;
    sum_khz += static_cast<double>(cores * *khz);
    counted += static_cast<double>(cores);
  }
  const auto take = [](std::optional<DeviceFile>& file, double& ghz) {
    const std::optional<std::int64_t> hz = file ? file->try_read_integer() : std::nullopt;
    if (hz && *hz > 0) ghz = static_cast<double>(*hz) / kHzInGhz;
  };
  const auto percent =
      clock_percent_ ? clock_percent_->try_read_integer() : std::optional<std::int64_t>();
  const double share = percent && *percent > 0 ? static_cast<double>(*percent) / 100 : 1;
  if (counted > 0) mode_.cpu_ghz = share * sum_khz / counted / kKhzInGhz;
  const double gpu_before_ghz = mode_.gpu_ghz;
  mode_.gpu_ghz = 0;
  take(gpu_hz_, mode_.gpu_ghz);
  mode_.gpu_ghz = mode_.gpu_ghz > 0 ? share * mode_.gpu_ghz : gpu_before_ghz;
  take(memory_hz_, mode_.mem_ghz);
  return mode_;
}

}  // namespace gearshift

#include "simulator/cpu_clusters.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

namespace gearshift {
namespace {

constexpr std::string_view kFolder = "/sys/devices/system/cpu";
constexpr std::string_view kCpuGovernors[] = {"conservative", "ondemand",    "userspace",
                                              "powersave",    "performance", "schedutil"};
constexpr std::string_view kDefaultGovernor = "schedutil";
constexpr std::int64_t kTransitionNs = 300'000;

// "0-3,5": how the kernel writes a set of cores.
std::string ranges(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (last > i) text += '-' + std::to_string(numbers[last]);
    i = last;
  }
  return text;
}

std::string joined(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) text += std::to_string(value) + ' ';
  return text;
}

}  // namespace

CpuClusters::CpuClusters(std::size_t cores, std::vector<std::int64_t> table_khz,
                         const Faults& faults)
    : table_khz_(std::move(table_khz)), faults_(faults), online_(cores, true) {
  for (std::size_t first = 0; first < cores; first += kCoresInCluster) {
    Cluster cluster;
    cluster.first = first;
    cluster.count = std::min(kCoresInCluster, cores - first);
    cluster.governor = kDefaultGovernor;
    clusters_.push_back(cluster);
  }
}

void CpuClusters::boot(std::size_t cores, std::int64_t min_khz, std::int64_t max_khz) {
  boot_limits_ = {min_khz, max_khz};
  for (Cluster& cluster : clusters_) {
    cluster.limits = boot_limits_;
    cluster.set_khz = limit_khz(cluster, Limit::max);
    cluster.clock_khz = chosen_khz(cluster);
  }
  for (std::size_t core = 0; core < online_.size(); ++core) online_[core] = core < cores;
}

void CpuClusters::update(bool busy) {
  busy_ = busy;
  if (faults_.ignore_cpu_clock != IgnoredClock::no) return;
  for (Cluster& cluster : clusters_) {
    if (active(cluster)) cluster.clock_khz = chosen_khz(cluster);
  }
}

std::size_t CpuClusters::cores_online() const {
  return static_cast<std::size_t>(std::count(online_.begin(), online_.end(), true));
}

double CpuClusters::mean_khz() const {
  double sum = 0;
  for (std::size_t core = 0; core < online_.size(); ++core) {
    const std::size_t cluster = core / kCoresInCluster;
    if (online_[core]) sum += static_cast<double>(clusters_[cluster].clock_khz);
  }
  return sum / static_cast<double>(cores_online());
}

bool CpuClusters::active(const Cluster& cluster) const {
  const auto begin = online_.begin() + static_cast<std::ptrdiff_t>(cluster.first);
  return std::find(begin, begin + static_cast<std::ptrdiff_t>(cluster.count), true) !=
         begin + static_cast<std::ptrdiff_t>(cluster.count);
}

std::int64_t CpuClusters::limit_khz(const Cluster& cluster, Limit limit) const {
  const std::int64_t min = cluster.limits.min(table_khz_, faults_.heat_percent);
  const std::int64_t max = cluster.limits.max(table_khz_, faults_.heat_percent);
  // Limits with no entry of the table between them: the kernel raises the maximum to the next one.
  const std::int64_t reachable = std::max(max, at_least(table_khz_, min));
  return limit == Limit::min ? min : (at_most(table_khz_, max) < min ? reachable : max);
}

// What a cpufreq governor sets: schedutil and its kind follow the load.
std::int64_t CpuClusters::chosen_khz(const Cluster& cluster) const {
  const std::int64_t low = at_least(table_khz_, limit_khz(cluster, Limit::min));
  const std::int64_t high = at_most(table_khz_, limit_khz(cluster, Limit::max));
  if (cluster.governor == "userspace") {
    return std::clamp(nearest(table_khz_, cluster.set_khz), std::min(low, high), high);
  }
  if (cluster.governor == "performance") return high;
  if (cluster.governor == "powersave") return low;
  return busy_ ? high : low;
}

int CpuClusters::write_online(std::size_t core, std::string_view text) {
  if (text != "0" && text != "1") return EINVAL;
  const bool wanted = text == "1";
  if (core == 0 && !wanted) return EBUSY;
  Cluster& cluster = clusters_[core / kCoresInCluster];
  const bool wakes_cluster = wanted && !active(cluster);
  online_[core] = wanted;
  if (wakes_cluster && faults_.forget_limits) cluster.limits = {};
  return 0;
}

int CpuClusters::asleep_error() const { return faults_.stale_cpufreq ? EINVAL : EBUSY; }

int CpuClusters::write_limit(Cluster& cluster, Limit limit, std::string_view text) {
  if (!active(cluster)) return asleep_error();
  const std::optional<std::int64_t> wanted = whole_integer(text);
  if (!wanted || *wanted < 0) return EINVAL;
  if (faults_.ignore_cpu_clock == IgnoredClock::limits) return 0;
  (limit == Limit::min ? cluster.limits.wanted_min : cluster.limits.wanted_max) = *wanted;
  return 0;
}

int CpuClusters::write_governor(Cluster& cluster, std::string_view text) {
  if (!active(cluster)) return asleep_error();
  if (std::find(std::begin(kCpuGovernors), std::end(kCpuGovernors), text) ==
      std::end(kCpuGovernors)) {
    return EINVAL;
  }
  cluster.governor = text;
  return 0;
}

int CpuClusters::write_speed(Cluster& cluster, std::string_view text) {
  if (!active(cluster)) return asleep_error();
  const std::optional<std::int64_t> wanted = whole_integer(text);
  if (cluster.governor != "userspace" || !wanted || *wanted < 0) return EINVAL;
  cluster.set_khz = *wanted;
  return 0;
}

std::string CpuClusters::core_list(bool online) const {
  std::vector<std::size_t> cores;
  for (std::size_t core = 0; core < online_.size(); ++core) {
    if (online_[core] == online) cores.push_back(core);
  }
  return ranges(cores);
}

std::string CpuClusters::online_cores(const Cluster& cluster, char separator) const {
  std::string text;
  for (std::size_t core = cluster.first; core < cluster.first + cluster.count; ++core) {
    if (online_[core])
      text += (text.empty() ? "" : std::string(1, separator)) + std::to_string(core);
  }
  return text;
}

void CpuClusters::add_core(BoardTree& tree, std::size_t core) {
  const std::string folder = std::string(kFolder) + "/cpu" + std::to_string(core);
  tree.add_file(
      folder + "/online", 0644, [this, core] { return line(online_[core] ? 1 : 0); },
      [this, core](std::string_view text) { return write_online(core, text); });
  const std::size_t first = clusters_[core / kCoresInCluster].first;
  tree.add_link(folder + "/cpufreq",
                std::string(kFolder) + "/cpufreq/policy" + std::to_string(first));
}

void CpuClusters::add_cluster(BoardTree& tree, Cluster& cluster) {
  const std::string folder =
      std::string(kFolder) + "/cpufreq/policy" + std::to_string(cluster.first) + '/';
  // The files of a cluster that sleeps are there and answer EBUSY, or what they held.
  const auto add = [&](std::string_view name, std::uint16_t mode, std::function<FileText()> read,
                       FileWriter write = {}) {
    tree.add_file(
        folder + std::string(name), mode,
        [this, &cluster, read = std::move(read)] {
          return active(cluster) || faults_.stale_cpufreq ? read() : FileText{"", EBUSY};
        },
        std::move(write));
  };
  add(
      "scaling_min_freq", 0644, [this, &cluster] { return line(limit_khz(cluster, Limit::min)); },
      [this, &cluster](std::string_view text) { return write_limit(cluster, Limit::min, text); });
  add(
      "scaling_max_freq", 0644, [this, &cluster] { return line(limit_khz(cluster, Limit::max)); },
      [this, &cluster](std::string_view text) { return write_limit(cluster, Limit::max, text); });
  add(
      "scaling_governor", 0644, [&cluster] { return line(cluster.governor); },
      [this, &cluster](std::string_view text) { return write_governor(cluster, text); });
  add(
      "scaling_setspeed", 0644,
      [&cluster] {
        return cluster.governor == "userspace" ? line(cluster.set_khz) : line("<unsupported>");
      },
      [this, &cluster](std::string_view text) { return write_speed(cluster, text); });
  add("scaling_cur_freq", 0444, [&cluster] { return line(cluster.clock_khz); });
  // Measured, so it shows a throttle that scaling_cur_freq does not.
  add("cpuinfo_cur_freq", 0400,
      [this, &cluster] { return line(cluster.clock_khz * faults_.clock_percent / 100); });
  add("cpuinfo_min_freq", 0444, [this] { return line(table_khz_.front()); });
  add("cpuinfo_max_freq", 0444, [this] { return line(table_khz_.back()); });
  add("cpuinfo_transition_latency", 0444, [] { return line(kTransitionNs); });
  add("scaling_driver", 0444, [] { return line("tegra194"); });
  add("scaling_available_frequencies", 0444, [this] { return line(joined(table_khz_)); });
  add("scaling_available_governors", 0444, [] {
    std::string text;
    for (const std::string_view governor : kCpuGovernors) text += std::string(governor) + ' ';
    return line(text);
  });
  add("affected_cpus", 0444, [this, &cluster] { return line(online_cores(cluster, ' ')); });
  std::string related;
  for (std::size_t core = cluster.first; core < cluster.first + cluster.count; ++core) {
    related += (related.empty() ? "" : " ") + std::to_string(core);
  }
  add("related_cpus", 0444, [related] { return line(related); });
}

void CpuClusters::add_files(BoardTree& tree) {
  const std::string folder(kFolder);
  const std::string all = online_.size() == 1 ? "0" : "0-" + std::to_string(online_.size() - 1);
  tree.add_file(folder + "/online", 0444, [this] { return line(core_list(true)); });
  tree.add_file(folder + "/offline", 0444, [this] { return line(core_list(false)); });
  tree.add_text(folder + "/possible", all);
  tree.add_text(folder + "/present", all);
  for (std::size_t core = 0; core < online_.size(); ++core) add_core(tree, core);
  for (Cluster& cluster : clusters_) add_cluster(tree, cluster);
}

}  // namespace gearshift

#include "sensors/cpu_time_estimate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "sensors/look_again.h"

namespace gearshift {
namespace {

constexpr std::string_view kStatistics = "/proc/stat";
constexpr std::string_view kUsage = "/sys/fs/cgroup/cpuacct/cpuacct.usage";
// Only the root of a hierarchy has it: what a container sees of its own counts its own processes.
constexpr std::string_view kOfTheRoot = "/sys/fs/cgroup/cpuacct/release_agent";

// Lines "cpu0", "cpu1" and so on: the CPUs that are online.
int count_cpus(std::string_view text) {
  int count = 0;
  for (std::size_t at = text.find("\ncpu"); at != std::string_view::npos;
       at = text.find("\ncpu", at + 1)) {
    ++count;
  }
  return std::max(count, 1);
}

}  // namespace

std::optional<CpuTimeEstimate::CpuTime> CpuTimeEstimate::parse(std::string_view text) {
  constexpr std::string_view kLine = "cpu ";
  if (!text.starts_with(kLine)) return std::nullopt;
  // user, nice, system, idle, iowait, irq, softirq, steal; guest time is inside user.
  std::array<std::int64_t, 8> ticks{};
  const char* at = text.data() + kLine.size();
  const char* const end = text.data() + std::min(text.find('\n'), text.size());
  for (std::int64_t& tick : ticks) {
    while (at < end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, tick);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  CpuTime time;
  time.busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
  time.total = time.busy + ticks[3] + ticks[4] + ticks[7];
  return time;
}

std::unique_ptr<CpuTimeEstimate> CpuTimeEstimate::open(const PowerDescription& power, Sysroot& root,
                                                       std::vector<std::string>& findings) {
  try {
    const int cpus = count_cpus(root.read(kStatistics));
    const bool exact = root.exists(kUsage) && root.exists(kOfTheRoot);
    DeviceFile counter = root.open(exact ? kUsage : kStatistics);
    if (!exact && !parse(counter.read())) {
      findings.push_back("power: " + counter.path() + " does not begin with CPU times");
      return nullptr;
    }
    findings.push_back("power: an estimate from the CPU time of " + std::to_string(cpus) +
                       " CPUs in " + counter.path() + "; nothing here measures power");
    return std::unique_ptr<CpuTimeEstimate>(
        new CpuTimeEstimate(std::move(counter), exact, root, power));
  } catch (const FileError& error) {
    findings.push_back("power: no estimate from CPU time: " + std::string(error.what()));
    return nullptr;
  }
}

CpuTimeEstimate::CpuTimeEstimate(DeviceFile counter, bool exact, Sysroot& root,
                                 const PowerDescription& power)
    : counter_(std::move(counter)),
      exact_(exact),
      root_(root),
      idle_w_(power.estimate_idle_w),
      core_w_(power.estimate_core_w),
      period_(std::max(power.period, Duration(1))),
      plausible_max_mw_(power.plausible_max_mw) {
  newest_.estimate = true;
}

std::optional<CpuTimeEstimate::CpuTime> CpuTimeEstimate::count(Time now) {
  if (!exact_) return parse(counter_.read());
  return CpuTime{counter_.read_integer(), now.time_since_epoch().count()};
}

// A cgroup's time may be of more CPUs than there were when it began.
double CpuTimeEstimate::busy_cores(const CpuTime& since, const CpuTime& until, Time now) {
  const double share =
      static_cast<double>(until.busy - since.busy) / static_cast<double>(until.total - since.total);
  if (exact_) return share;
  if (cpus_ == 0 || now >= count_again_) {
    count_again_ = now + kLookEvery;
    // Their lines may be more than one reading of a sensor's file holds.
    if (const auto text = root_.try_read(kStatistics)) cpus_ = count_cpus(*text);
  }
  return cpus_ * std::min(share, 1.0);
}

void CpuTimeEstimate::sample(Time now) {
  newest_.state = ReadingState::missing;
  newest_.value = 0;
  newest_.taken = now;
  sampled_ = now;
  std::optional<CpuTime> time;
  try {
    time = count(now);
  } catch (const FileError&) {
    // Told by explain(), from the file's last error.
  }
  if (time && last_ && time->total > last_->total && time->busy >= last_->busy) {
    newest_.value = std::llround((idle_w_ + core_w_ * busy_cores(*last_, *time, now)) * 1000);
    const bool plausible = newest_.value > 0 && newest_.value <= plausible_max_mw_;
    newest_.state = plausible ? ReadingState::ok : ReadingState::absurd;
  }
  last_ = time;
}

void CpuTimeEstimate::read(Time now, std::vector<Reading>& readings) {
  if (!sampled_ || now - *sampled_ >= period_) sample(now);
  readings.push_back(newest_);
}

std::string CpuTimeEstimate::explain(const Reading& reading) const {
  if (reading.state == ReadingState::ok) return "";
  if (reading.state == ReadingState::absurd) {
    return "the estimate of " + std::to_string(reading.value) + " mW is outside 0 to " +
           std::to_string(plausible_max_mw_) + " mW";
  }
  if (!last_) return counter_.path() + " cannot be read as CPU times";
  return "an estimate needs two readings of " + counter_.path() + " with CPU time in between";
}

}  // namespace gearshift

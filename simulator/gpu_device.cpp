#include "simulator/gpu_device.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <utility>

#include "boards/clock_units.h"
#include "simulator/noise.h"

namespace gearshift {
namespace {

constexpr std::string_view kGpuGovernors[] = {"wmark_active", "nvhost_podgov", "userspace",
                                              "performance",  "powersave",     "simple_ondemand"};
// Every kernel has more devfreq devices than the GPU: a reader must tell them apart.
constexpr std::string_view kOthers[] = {"154c0000.nvenc", "15480000.nvdec", "15340000.vic"};

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

GpuDevice::GpuDevice(std::vector<std::int64_t> table_khz, GpuPlace place, const Faults& faults)
    : table_khz_(std::move(table_khz)), place_(std::move(place)), faults_(faults) {}

void GpuDevice::boot(std::int64_t max_khz) {
  limits_ = {0, max_khz};
  set_khz_ = limit_khz(Limit::max);
  clock_khz_ = chosen_khz();
}

void GpuDevice::update(bool busy, Time now) {
  if (busy_ && !busy) idle_since_ = now;
  busy_ = busy;
  if (faults_.ignore_gpu_clock == IgnoredClock::no) clock_khz_ = chosen_khz();
}

bool GpuDevice::railgated(Time now) const {
  return railgate_enable_ == 1 && !busy_ &&
         now - idle_since_ >= std::chrono::milliseconds(railgate_delay_ms_);
}

std::int64_t GpuDevice::limit_khz(Limit limit) const {
  return limit == Limit::min ? limits_.min(table_khz_, faults_.heat_percent)
                             : limits_.max(table_khz_, faults_.heat_percent);
}

std::int64_t GpuDevice::chosen_khz() const {
  const std::int64_t high = at_most(table_khz_, limit_khz(Limit::max));
  const std::int64_t low = std::min(high, at_least(table_khz_, limit_khz(Limit::min)));
  if (governor_ == "userspace") return std::clamp(at_most(table_khz_, set_khz_), low, high);
  if (governor_ == "performance") return high;
  if (governor_ == "powersave") return low;
  return busy_ ? high : low;
}

// Limits are kept in kHz, a fraction rounded up; a maximum of 0 is no limit.
int GpuDevice::write_limit(Limit limit, std::string_view text) {
  const std::optional<std::int64_t> wanted_hz = whole_integer(text);
  if (!wanted_hz || *wanted_hz < 0) return EINVAL;
  if (faults_.ignore_gpu_clock == IgnoredClock::limits) return 0;
  const std::int64_t wanted_khz = *wanted_hz / kHzInKhz + (*wanted_hz % kHzInKhz != 0 ? 1 : 0);
  if (limit == Limit::min) {
    limits_.wanted_min = wanted_khz;
  } else {
    limits_.wanted_max = wanted_khz == 0 ? INT64_MAX : wanted_khz;
  }
  return 0;
}

int GpuDevice::write_governor(std::string_view text) {
  if (std::find(std::begin(kGpuGovernors), std::end(kGpuGovernors), text) ==
      std::end(kGpuGovernors)) {
    return EINVAL;
  }
  governor_ = text;
  return 0;
}

void GpuDevice::add_clock_files(BoardTree& tree, const std::string& folder) {
  const auto hertz = [](std::int64_t khz) { return line(khz * kHzInKhz); };
  tree.add_file(folder + "/cur_freq", 0444, [this, hertz] { return hertz(clock_khz_); });
  tree.add_file(folder + "/target_freq", 0444, [this, hertz] { return hertz(chosen_khz()); });
  tree.add_file(
      folder + "/min_freq", 0644, [this, hertz] { return hertz(limit_khz(Limit::min)); },
      [this](std::string_view text) { return write_limit(Limit::min, text); });
  tree.add_file(
      folder + "/max_freq", 0644, [this, hertz] { return hertz(limit_khz(Limit::max)); },
      [this](std::string_view text) { return write_limit(Limit::max, text); });
  tree.add_file(
      folder + "/governor", 0644, [this] { return line(governor_); },
      [this](std::string_view text) { return write_governor(text); });
  tree.add_file(
      folder + "/userspace/set_freq", 0644, [this, hertz] { return hertz(set_khz_); },
      [this](std::string_view text) {
        const std::optional<std::int64_t> wanted_hz = whole_integer(text);
        if (!wanted_hz || *wanted_hz < 0 || governor_ != "userspace") return EINVAL;
        set_khz_ = *wanted_hz / kHzInKhz;
        return 0;
      });
  std::string governors;
  for (const std::string_view governor : kGpuGovernors) {
    governors += (governors.empty() ? "" : " ") + std::string(governor);
  }
  tree.add_text(folder + "/available_governors", governors);
  std::string frequencies;
  for (const std::int64_t khz : table_khz_) {
    frequencies += (frequencies.empty() ? "" : " ") + std::to_string(khz * kHzInKhz);
  }
  tree.add_text(folder + "/available_frequencies", frequencies);
  tree.add_text(folder + "/polling_interval", "25");
}

void GpuDevice::add_device_files(BoardTree& tree, const Time& now, std::uint64_t seed) {
  const std::string& folder = place_.device;
  // Per mille of one short look, which is why real ones jump about.
  tree.add_file(folder + "/load", 0444, [this, &now, seed] {
    const auto index =
        std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
    const double spike =
        uniform_noise(seed, Stream::gpu_load, static_cast<std::uint64_t>(index.count())) - 0.5;
    const double load = !busy_ ? 0 : std::clamp(utilization_ + 0.3 * spike, 0.0, 1.0);
    return line(std::llround(1000 * load));
  });
  tree.add_number(folder + "/railgate_enable", railgate_enable_,
                  [](std::int64_t value) { return value == 0 || value == 1; });
  tree.add_number(folder + "/railgate_delay", railgate_delay_ms_,
                  [](std::int64_t value) { return value >= 0 && value <= 100'000; });
  tree.add_file(folder + "/is_railgated", 0444,
                [this, &now] { return line(railgated(now) ? "yes" : "no"); });
  tree.add_file(folder + "/gpu_powered_on", 0444,
                [this, &now] { return line(railgated(now) ? 0 : 1); });
  tree.add_text(folder + "/golden_img_status", "1");
  tree.add_text(folder + "/power/control", "auto");
  // Once the GPU has had a context, its units cannot be switched any more. All are on: the power
  // model knows nothing of gated ones.
  const auto add_mask = [&](std::string_view name, int error) {
    tree.add_file(
        folder + '/' + std::string(name), 0644, [] { return line(0); },
        [error](std::string_view text) { return whole_integer(text) == 0 ? 0 : error; });
  };
  add_mask("tpc_pg_mask", EBUSY);
  add_mask("fbp_pg_mask", ENODEV);
  add_mask("gpc_pg_mask", ENODEV);
}

void GpuDevice::add_files(BoardTree& tree, const Time& now, std::uint64_t seed) {
  const std::string name(last_component(place_.device));
  const std::string folder = place_.device + "/devfreq/" + name;
  add_clock_files(tree, folder);
  add_device_files(tree, now, seed);
  tree.add_link(folder + "/device", place_.device);
  tree.add_link(place_.device + "/devfreq_dev", folder);
  tree.add_link("/sys/class/devfreq/" + name, folder);
  for (const std::string& link : place_.links) tree.add_link(link, place_.device);
  const auto add_of_node = [&](const std::string& device, std::string node_name,
                               std::string compatible) {
    node_name += '\0';
    compatible += '\0';
    tree.add_file(device + "/of_node/name", 0444, [node_name] { return FileText{node_name}; })
        .size_rule = SizeRule::exact;
    tree.add_file(device + "/of_node/compatible", 0444,
                  [compatible] { return FileText{compatible}; })
        .size_rule = SizeRule::exact;
  };
  add_of_node(place_.device, place_.node_name, "nvidia,ga10b");
  const std::string bus = place_.device.substr(0, place_.device.rfind('/'));
  for (const std::string_view other : kOthers) {
    const std::string device = bus + "/13e00000.host1x/" + std::string(other);
    const std::string unit(other.substr(other.find('.') + 1));
    const std::string devfreq = device + "/devfreq/" + std::string(other);
    tree.add_text(devfreq + "/governor", "nvhost_podgov");
    tree.add_text(devfreq + "/cur_freq", "115200000");
    tree.add_text(devfreq + "/min_freq", "115200000");
    tree.add_text(devfreq + "/max_freq", "729600000");
    tree.add_text(devfreq + "/available_frequencies", "115200000 729600000");
    tree.add_link(devfreq + "/device", device);
    tree.add_link("/sys/class/devfreq/" + std::string(other), devfreq);
    add_of_node(device, unit, "nvidia,tegra234-" + unit);
  }
}

}  // namespace gearshift

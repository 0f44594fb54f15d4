#include "actuators/heat.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gearshift {
namespace {

constexpr std::string_view kThermal = "/sys/class/thermal";
constexpr std::string_view kStem = "cooling_device";
constexpr Duration kLookEvery = std::chrono::milliseconds(500);

// Linux names them after what they lower: cpufreq-cpu0 and devfreq-17000000.gpu, in older kernels
// thermal-cpufreq-0 and thermal-devfreq-0, with ACPI Processor. Fans and alerts, which stand beside
// them, lower no limit.
bool lowers_limits(std::string_view type) {
  constexpr std::string_view kKinds[] = {"cpufreq-", "devfreq-", "thermal-cpufreq-",
                                         "thermal-devfreq-"};
  return type == "Processor" || std::any_of(std::begin(kKinds), std::end(kKinds),
                                            [&](auto kind) { return type.starts_with(kind); });
}

}  // namespace

std::string slowed_by_heat(Sysroot& root) {
  std::vector<std::string> at_work;
  for (const std::string& name : root.list(kThermal)) {
    if (!name.starts_with(kStem)) continue;
    const std::string folder = std::string(kThermal) + '/' + name;
    const std::string type = root.try_read(folder + "/type").value_or("");
    if (!lowers_limits(type)) continue;
    std::optional<DeviceFile> file = root.try_open(folder + "/cur_state");
    const std::optional<std::int64_t> state =
        file ? file->try_read_integer() : std::optional<std::int64_t>();
    if (!state || *state <= 0) continue;
    const std::string most = root.try_read(folder + "/max_state").value_or("?");
    at_work.push_back(type + " at state " + std::to_string(*state) + " of " + most);
  }
  std::sort(at_work.begin(), at_work.end());
  std::string text;
  for (const std::string& device : at_work) text += (text.empty() ? "" : ", ") + device;
  return text;
}

bool HeatWait::waits() {
  if (clock_ == nullptr || over_) return false;
  const Time now = clock_->now();
  if (begun_ && now - looked_ < kLookEvery) return true;
  looked_ = now;
  const std::string devices = slowed_by_heat(root_);
  if (devices.empty()) {
    if (begun_) complaint_ = "heat slows the clocks down no more; knobs are set";
    over_ = true;
    return false;
  }
  if (begun_ && now - *begun_ >= kMost) {
    complaint_ = "heat has slowed the clocks down for a minute (" + devices +
                 "): limits are saved as they read now, and put back so at the end; where they "
                 "were higher, set the power mode again then (nvpmodel -m), or restart";
    over_ = true;
    return false;
  }
  reason_ = "heat slows the clocks down (" + devices +
            "), so how their limits were set cannot be read to put them back: no knob is set until "
            "that ends, or for a minute";
  if (!begun_) complaint_ = reason_;
  begun_ = begun_.value_or(now);
  return true;
}

std::string HeatWait::take_complaint() { return std::exchange(complaint_, {}); }

}  // namespace gearshift

#include "boards/nvml_gpu.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>

#include "controller/knob.h"

namespace gearshift {
namespace {

constexpr unsigned kPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT
constexpr int kUnsignedInt = 1;          // NVML_VALUE_TYPE_UNSIGNED_INT
constexpr int kGraphicsClock = 0;        // NVML_CLOCK_GRAPHICS
constexpr int kMemoryClock = 2;          // NVML_CLOCK_MEM
constexpr unsigned kMostGpus = 64;
constexpr unsigned kMostClocks = 1024;

// nvmlClocksThrottleReasons: hardware slowdown, by heat in software and hardware, power brake.
constexpr unsigned long long kThrottled = 0x8 | 0x20 | 0x40 | 0x80;
// Idle, the power limit, and GPUs that keep the same pace.
constexpr unsigned long long kOnPurpose = 0x1 | 0x4 | 0x10;

template <typename Function, typename... Values>
NvmlCode attempt(const Function& function, Values... values) {
  if (function.call == nullptr) return NvmlCode::function_not_found;
  return static_cast<NvmlCode>(function.call(values...));
}

// Integers as they were passed, for an error's text.
template <typename Value>
void append_argument(std::string& text, Value value) {
  if constexpr (std::is_integral_v<Value>)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
}

bool is_index(const std::string& which) {
  return !which.empty() && which.size() < 4 &&
         which.find_first_not_of("0123456789") == std::string::npos;
}

std::string text_of(const NvmlFunction<NvmlDevice, char*, unsigned>& function, NvmlDevice device) {
  std::array<char, 96> text{};  // the longest that NVML's second version of either text may be
  const auto size = static_cast<unsigned>(text.size() - 1);
  return attempt(function, device, text.data(), size) == NvmlCode::success ? text.data() : "";
}

bool has_sys_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return geteuid() == 0;
  return (sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

// The driver has let go of a handle after these: it may be found again, by UUID.
bool loses_handle(NvmlCode code) {
  return code == NvmlCode::uninitialized || code == NvmlCode::gpu_is_lost ||
         code == NvmlCode::reset_required || code == NvmlCode::unknown;
}

std::vector<std::int64_t> ascending(const unsigned* clocks, unsigned count) {
  std::vector<std::int64_t> sorted(clocks, clocks + std::min(count, kMostClocks));
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return sorted;
}

}  // namespace

NvmlGpu::NvmlGpu(const Sysroot& root, const std::string& which)
    : nvml_(std::make_unique<NvmlLibrary>(root)), device_(look_up(which)) {
  uuid_ = text_of(nvml_->uuid, device_);
  name_ = text_of(nvml_->name, device_);
  unsigned mode = 0;
  unsigned pending = 0;
  mig_ = attempt(nvml_->mig_mode, device_, &mode, &pending) == NvmlCode::success && mode == 1;
  int major = 0;
  int minor = 0;
  if (attempt(nvml_->capability, device_, &major, &minor) == NvmlCode::success) {
    capability_ = 10 * major + minor;
  }
}

// A GPU that was lost is looked up again before the next call. That may tell of another loss: of
// the driver, which has to be initialised first.
void NvmlGpu::find_again() {
  if (lost_ == NvmlCode::success) return;
  try {
    if (lost_ == NvmlCode::uninitialized) nvml_->initialise_again();
    device_ = look_up(uuid_);
  } catch (const NvmlError& error) {
    if (loses_handle(error.code())) lost_ = error.code();
    throw;
  }
  lost_ = NvmlCode::success;
}

template <typename... Arguments, typename... Values>
void NvmlGpu::call(const NvmlFunction<NvmlDevice, Arguments...>& function, Values... values) {
  find_again();
  const NvmlCode code = attempt(function, device_, values...);
  if (code == NvmlCode::success) return;
  if (loses_handle(code)) lost_ = code;
  std::string arguments;
  (append_argument(arguments, values), ...);
  throw NvmlError(
      std::string(function.name) + "(" + arguments + ") of " + uuid_ + ": " + explain(code), code);
}

NvmlDevice NvmlGpu::look_up(const std::string& which) const {
  NvmlDevice device = nullptr;
  NvmlCode code = NvmlCode::not_found;
  if (is_index(which)) {
    unsigned index = 0;
    std::from_chars(which.data(), which.data() + which.size(), index);
    code = attempt(nvml_->by_index, index, &device);
  } else if (which.starts_with("GPU-")) {
    code = attempt(nvml_->by_uuid, which.c_str(), &device);
  } else if (which.starts_with("MIG-")) {
    throw NvmlError("GPU '" + which +
                        "': an instance of MIG has no limit or clock of its own; name its GPU, " +
                        "there are " + list(),
                    NvmlCode::not_found);
  }
  if (code == NvmlCode::success) return device;
  // NVML answers an index that is too high with INVALID_ARGUMENT: the list tells more.
  throw NvmlError("GPU '" + which + "': " +
                      (loses_handle(code) ? explain(code) : "no such GPU; there are " + list()),
                  code);
}

std::string NvmlGpu::list() const {
  unsigned count = 0;
  attempt(nvml_->count, &count);
  std::string text;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    NvmlDevice device = nullptr;
    if (attempt(nvml_->by_index, i, &device) != NvmlCode::success) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(i) + " (" + text_of(nvml_->name, device) +
            ", " + text_of(nvml_->uuid, device) + ")";
  }
  return text.empty() ? "none" : text;
}

std::string NvmlGpu::read_only_reason() const {
  if (nvml_->is_named() || has_sys_admin()) return "";
  const std::string name = nvml_->set_limit.name;
  if (geteuid() != 0) return name + ": " + explain(NvmlCode::no_permission);
  return name +
         ": the driver asks for CAP_SYS_ADMIN, which this process of root's lacks; give it to the "
         "service or container (gearshift-helper-nvidia.conf in packaging/systemd)";
}

PowerLimitRange NvmlGpu::power_limit_range() {
  unsigned least = 0;
  unsigned most = 0;
  unsigned at_boot = 0;
  call(nvml_->limit_range, &least, &most);
  if (attempt(nvml_->default_limit, device_, &at_boot) != NvmlCode::success) at_boot = 0;
  return {least, most, at_boot};
}

std::int64_t NvmlGpu::power_limit_mw() {
  unsigned limit = 0;
  call(nvml_->limit, &limit);
  return limit;
}

std::int64_t NvmlGpu::enforced_power_limit_mw() {
  const std::int64_t set = power_limit_mw();
  unsigned enforced = 0;
  const NvmlCode code = attempt(nvml_->enforced_limit, device_, &enforced);
  return code == NvmlCode::success && enforced > 0 ? std::min<std::int64_t>(set, enforced) : set;
}

void NvmlGpu::set_power_limit_mw(std::int64_t value) {
  call(nvml_->set_limit, static_cast<unsigned>(value));
}

std::int64_t NvmlGpu::energy_mj() {
  unsigned long long energy = 0;
  call(nvml_->energy, &energy);
  return static_cast<std::int64_t>(energy);
}

// The field is the present power on every architecture. nvmlDeviceGetPowerUsage is a mean over 1 s
// on Ampere (except GA100) and newer, and may be 0 where it is not supported.
std::int64_t NvmlGpu::power_mw() {
  find_again();
  NvmlFieldValue instant;
  instant.field = kPowerInstant;
  const NvmlCode code = attempt(nvml_->field_values, device_, 1, &instant);
  if (code == NvmlCode::success && instant.code == 0 && instant.type == kUnsignedInt &&
      instant.value.integer > 0) {
    return instant.value.integer;
  }
  unsigned power = 0;
  call(nvml_->power_usage, &power);
  if (power == 0) {
    throw NvmlError("NVML reports 0 W for " + uuid_ + ", which is no power of a GPU",
                    NvmlCode::not_supported);
  }
  return power;
}

std::vector<std::int64_t> NvmlGpu::supported_mhz(ClockDomain clock) {
  std::array<unsigned, kMostClocks> clocks{};
  unsigned count = kMostClocks;
  call(nvml_->memory_clocks, &count, clocks.data());
  std::vector<std::int64_t> memory = ascending(clocks.data(), count);
  if (clock == ClockDomain::memory || memory.empty()) return memory;
  return graphics_mhz(memory.back());
}

std::vector<std::int64_t> NvmlGpu::graphics_mhz(std::int64_t memory_mhz) {
  std::array<unsigned, kMostClocks> clocks{};
  unsigned count = kMostClocks;
  call(nvml_->graphics_clocks, static_cast<unsigned>(memory_mhz), &count, clocks.data());
  return ascending(clocks.data(), count);
}

std::int64_t NvmlGpu::clock_mhz(ClockDomain clock) {
  unsigned mhz = 0;
  call(nvml_->clock, clock == ClockDomain::graphics ? kGraphicsClock : kMemoryClock, &mhz);
  return mhz;
}

void NvmlGpu::lock_clock(ClockDomain clock, std::int64_t mhz) {
  const auto value = static_cast<unsigned>(mhz);
  call(clock == ClockDomain::graphics ? nvml_->lock_gpu : nvml_->lock_memory, value, value);
}

void NvmlGpu::unlock_clock(ClockDomain clock) {
  call(clock == ClockDomain::graphics ? nvml_->unlock_gpu : nvml_->unlock_memory);
}

std::optional<bool> NvmlGpu::is_throttled() {
  unsigned long long reasons = 0;
  call(nvml_->throttle_reasons, &reasons);
  if ((reasons & kThrottled) != 0) return true;
  if ((reasons & kOnPurpose) != 0) return false;
  return std::nullopt;
}

std::string describe(const GpuSummary& gpu) {
  const auto watts = [](std::int64_t mw) { return describe_value(Unit::mw, mw) + " W"; };
  std::string text = "GPU " + std::to_string(gpu.index) + ": " + gpu.name + ", " + gpu.uuid;
  if (gpu.limit) {
    text += ", limit " + describe_value(Unit::mw, gpu.limit->least_mw) + " to " +
            watts(gpu.limit->most_mw);
    if (gpu.limit->default_mw > 0) text += " (default " + watts(gpu.limit->default_mw) + ")";
  }
  text += ", draws " + watts(gpu.power_mw);
  return text + (gpu.mig ? ", cut into instances by MIG" : "");
}

std::vector<GpuSummary> find_gpus(const Sysroot& root, std::string& why) {
  std::vector<GpuSummary> gpus;
  try {
    unsigned count = 0;
    const NvmlLibrary nvml(root);
    const NvmlCode code = attempt(nvml.count, &count);
    if (code != NvmlCode::success) throw NvmlError(nvml.count.name + (": " + explain(code)), code);
    for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
      try {
        NvmlGpu gpu(root, std::to_string(i));
        GpuSummary found{i, gpu.name(), gpu.uuid(), gpu.is_mig(), std::nullopt, 0};
        try {
          found.limit = gpu.power_limit_range();
        } catch (const NvmlError&) {
          // A GPU without a settable limit is still measured.
        }
        found.power_mw = gpu.power_mw();
        gpus.push_back(std::move(found));
      } catch (const NvmlError& error) {
        why += (why.empty() ? "" : "; ") + ("GPU " + std::to_string(i)) + ": " + error.what();
      }
    }
    if (gpus.empty() && why.empty()) why = "NVML knows of no GPU";
  } catch (const NvmlError& error) {
    why = error.what();
  }
  return gpus;
}

}  // namespace gearshift

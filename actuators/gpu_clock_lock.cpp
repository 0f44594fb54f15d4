// A clock of an NVIDIA GPU, locked to one value through NVML.
#include <algorithm>
#include <vector>

#include "actuators/clock_watch.h"
#include "actuators/gpu_restore.h"
#include "actuators/knob_control.h"
#include "boards/nvml_gpu.h"

namespace gearshift {
namespace {

constexpr std::int64_t kKhzPerMhz = 1000;
constexpr std::size_t kMostValues = 256;
// Compute capabilities from which on a clock can be locked.
constexpr int kVolta = 70;
constexpr int kAmpere = 80;

// NVML tells no lock, so a lock is judged by the clock that it holds. A clock that the power limit
// or idleness holds lower obeys its lock; one above it has lost it.
class GpuClockLock : public KnobControl {
 public:
  GpuClockLock(Knob knob, NvmlGpu gpu, ClockDomain clock)
      : KnobControl(std::move(knob)), gpu_(std::move(gpu)), clock_(clock) {}

  // There is nothing to save until the clock is locked: an untouched lock of another stays.
  void save(KnobJournal&) override {}

  Progress write(std::int64_t value, KnobJournal& journal) override {
    const bool graphics = clock_ == ClockDomain::graphics;
    const SavedRole role = graphics ? SavedRole::gpu_clock_lock : SavedRole::gpu_memory_lock;
    const std::string path = gpu_path(gpu_.uuid(), graphics ? "gpu_clock" : "memory_clock");
    const bool known = journal.has(role, path);
    journal.save(role, path, "unlocked");
    journal.commit();
    try {
      gpu_.lock_clock(clock_, value / kKhzPerMhz);
      locked_ = true;
    } catch (const NvmlError& error) {
      // What never was locked is not to be unlocked: a lock may be another's. An entry that was
      // there before tells of one of ours that could not be unlocked.
      if (!locked_ && !known) journal.forget(role, path);
      // Many a GPU tells of several clocks and lets none be locked: it runs at the highest by
      // itself.
      const bool highest = value == knob_.values.back();
      if (error.code() != NvmlCode::not_supported || !highest) throw;
    }
    wanted_ = value;
    watch_.expect(value);
    return Progress::done;
  }

  std::optional<std::int64_t> read() override {
    if (!wanted_) return std::nullopt;
    try {
      const std::int64_t actual = gpu_.clock_mhz(clock_) * kKhzPerMhz;
      if (actual < *wanted_ && !ClockWatch::follows(actual, *wanted_) && held_back_on_purpose()) {
        return wanted_;
      }
      return watch_.judge(actual);
    } catch (const NvmlError& error) {
      if (error.code() == NvmlCode::not_supported) return wanted_;
      return std::nullopt;
    }
  }

  void restored() override {
    wanted_.reset();
    locked_ = false;
  }

 private:
  bool held_back_on_purpose() {
    try {
      const std::optional<bool> throttled = gpu_.is_throttled();
      return throttled.has_value() && !*throttled;
    } catch (const NvmlError& error) {
      if (error.code() == NvmlCode::not_supported) return true;  // it cannot be told
      throw;
    }
  }

  NvmlGpu gpu_;
  const ClockDomain clock_;
  std::optional<std::int64_t> wanted_;
  bool locked_ = false;  // by us
  ClockWatch watch_;
};

// The memory clocks with which the whole range of the graphics clock goes, so that any value of
// one knob goes with any of the other: the low ones are for an idle GPU.
std::vector<std::int64_t> working_memory_mhz(NvmlGpu& gpu) {
  std::vector<std::int64_t> clocks = gpu.supported_mhz(ClockDomain::memory);
  if (clocks.empty()) return clocks;
  const std::vector<std::int64_t> graphics = gpu.graphics_mhz(clocks.back());
  std::erase_if(clocks, [&](std::int64_t mhz) { return gpu.graphics_mhz(mhz) != graphics; });
  return clocks;
}

// At most as many as a board file may list, evenly, both ends kept.
std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& values) {
  if (values.size() <= kMostValues) return values;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < kMostValues; ++i) {
    kept.push_back(values[i * (values.size() - 1) / (kMostValues - 1)]);
  }
  return kept;
}

std::unique_ptr<KnobControl> open_lock(const KnobDescription& description, const Sysroot& root,
                                       ClockDomain clock, std::string& finding) {
  NvmlGpu gpu = open_settable_gpu(description, root);
  const bool graphics = clock == ClockDomain::graphics;
  if (gpu.capability() && *gpu.capability() < (graphics ? kVolta : kAmpere)) {
    throw KnobError(gpu.name() + " is older than " + (graphics ? "Volta" : "Ampere") +
                    ": its clock cannot be locked");
  }
  const std::vector<std::int64_t> supported =
      graphics ? gpu.supported_mhz(clock) : working_memory_mhz(gpu);
  if (supported.size() < 2) {
    throw KnobError(gpu.name() + (supported.empty()
                                      ? std::string(" tells no clocks")
                                      : " works at " + std::to_string(supported.front()) +
                                            " MHz alone: there is nothing to choose"));
  }
  Knob knob = description.knob;
  knob.values = thinned(supported);
  for (std::int64_t& value : knob.values) value *= kKhzPerMhz;
  finding = "NVML, " + gpu.name() + ", " + gpu.uuid() + ": " + std::to_string(supported.size()) +
            " clocks of the GPU; unlocked afterwards, whoever had locked it before";
  return std::make_unique<GpuClockLock>(std::move(knob), std::move(gpu), clock);
}

}  // namespace

std::unique_ptr<KnobControl> open_gpu_clock_lock(const KnobDescription& description, Sysroot& root,
                                                 std::string& finding) {
  const ClockDomain clock = description.driver == KnobDriver::nvml_memory_clock
                                ? ClockDomain::memory
                                : ClockDomain::graphics;
  try {
    return open_lock(description, root, clock, finding);
  } catch (const NvmlError& error) {
    throw KnobError(error.what());
  }
}

}  // namespace gearshift

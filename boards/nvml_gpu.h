// One NVIDIA GPU of a server or workstation, as NVML tells of it and sets it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "boards/nvml_library.h"
#include "boards/sysroot.h"

namespace gearshift {

enum class ClockDomain : std::uint8_t { graphics, memory };

struct PowerLimitRange {
  std::int64_t least_mw = 0;
  std::int64_t most_mw = 0;
  std::int64_t default_mw = 0;  // what a boot sets; 0 where the driver does not tell
};

// Finds its GPU again by UUID after the driver has lost it. Used from one thread.
class NvmlGpu {
 public:
  // `which` is an index, counted as nvidia-smi does, or a UUID ("GPU-6a..."). Throws NvmlError that
  // lists the GPUs there are where it is none of them.
  NvmlGpu(const Sysroot& root, const std::string& which);

  const std::string& uuid() const { return uuid_; }
  const std::string& name() const { return name_; }
  // Empty, or why this process may not set the GPU. That it may is only known from a write.
  std::string read_only_reason() const;
  // True where MIG has cut the GPU into instances, which share its limits and clocks.
  bool is_mig() const { return mig_; }
  // CUDA compute capability times ten: 70 is Volta, 80 Ampere. Nullopt where it is not told.
  std::optional<int> capability() const { return capability_; }

  // All of these throw NvmlError.
  PowerLimitRange power_limit_range();
  std::int64_t power_limit_mw();
  // The one in force: lower than the one that was set where the server has a cap of its own, say.
  std::int64_t enforced_power_limit_mw();
  void set_power_limit_mw(std::int64_t value);
  // Millijoules since the driver was loaded; from Volta on.
  std::int64_t energy_mj();
  // Power as `fresh_power` and `power_usage` tell it, the first that does, in mW.
  std::int64_t power_mw();

  // Lowest first, in MHz. Those of the graphics clock are for the highest memory clock.
  std::vector<std::int64_t> supported_mhz(ClockDomain clock);
  // The graphics clocks that go with a memory clock.
  std::vector<std::int64_t> graphics_mhz(std::int64_t memory_mhz);
  std::int64_t clock_mhz(ClockDomain clock);
  // Holds the clock at one value; from Volta on, that of the memory from Ampere on. Whether a clock
  // is locked cannot be read.
  void lock_clock(ClockDomain clock, std::int64_t mhz);
  void unlock_clock(ClockDomain clock);
  // True where heat or the board's own protection slows the GPU, false where its power limit or
  // idleness does; nullopt where nothing does, or it is not told.
  std::optional<bool> is_throttled();

 private:
  NvmlDevice look_up(const std::string& which) const;
  std::string list() const;
  void find_again();
  template <typename... Arguments, typename... Values>
  void call(const NvmlFunction<NvmlDevice, Arguments...>& function, Values... values);

  std::unique_ptr<NvmlLibrary> nvml_;
  NvmlDevice device_ = nullptr;
  std::string uuid_;
  std::string name_;
  bool mig_ = false;
  std::optional<int> capability_;
  NvmlCode lost_ = NvmlCode::success;  // why the handle has to be looked up again
};

// What detection and `gearshift boards` tell of a GPU.
struct GpuSummary {
  unsigned index = 0;
  std::string name;
  std::string uuid;
  bool mig = false;
  std::optional<PowerLimitRange> limit;
  std::int64_t power_mw = 0;
};

// "GPU 0: NVIDIA A100-SXM4-40GB, GPU-6a..., limit 100 to 400 W (default 400 W), draws 61 W".
std::string describe(const GpuSummary& gpu);

// The GPUs of this machine whose power can be read: that NVML answers is not enough. `why` says
// what is missing of the others, or of NVML. Does not throw.
std::vector<GpuSummary> find_gpus(const Sysroot& root, std::string& why);

}  // namespace gearshift

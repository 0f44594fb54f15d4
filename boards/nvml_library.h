// NVIDIA's management library as gearshift calls it: the few functions used, found at run time, so
// that a machine without one needs nothing of it. Names, argument types and numbers are those of
// NVIDIA's NVML reference; its header is not needed.
#pragma once

#include <stdexcept>
#include <string>

#include "boards/sysroot.h"

namespace gearshift {

// nvmlReturn_t, as far as codes are told apart here.
enum class NvmlCode : int {
  success = 0,
  uninitialized = 1,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  insufficient_size = 7,
  driver_not_loaded = 9,
  library_not_found = 12,
  function_not_found = 13,
  gpu_is_lost = 15,
  reset_required = 16,
  version_mismatch = 18,
  unknown = 999,
};

// A call that failed, or a GPU that cannot be used: what() has the function, what it was told, the
// code's name and the way out.
class NvmlError : public std::runtime_error {
 public:
  NvmlError(const std::string& what, NvmlCode code) : std::runtime_error(what), code_(code) {}
  NvmlCode code() const { return code_; }

 private:
  NvmlCode code_;
};

// "NO_PERMISSION: only root may; ...".
std::string explain(NvmlCode code);

// nvmlFieldValue_t.
struct NvmlFieldValue {
  unsigned field = 0;
  unsigned scope = 0;  // 0: the GPU
  long long timestamp_us = 0;
  long long latency_us = 0;
  int type = 0;  // nvmlValueType_t
  int code = 0;  // nvmlReturn_t of this field
  union {
    double number;
    unsigned integer;
    unsigned long integer_long;
    unsigned long long integer_long_long;
    long long integer_signed;
  } value{};
};
static_assert(sizeof(NvmlFieldValue) == 40);

using NvmlDevice = void*;  // nvmlDevice_t

// A function of the library with its name; null where this version of the library lacks it.
template <typename... Arguments>
struct NvmlFunction {
  const char* name;
  int (*call)(Arguments...) = nullptr;
};

// One reference to the initialised library: NVML counts them, and lets go of the driver with the
// last. Used from one thread.
class NvmlLibrary {
 public:
  // Loads libnvidia-ml.so.1, or the file that the environment variable GEARSHIFT_NVML names (empty:
  // none). Without that variable it refuses a sysroot other than "/", whose GPU is not this
  // machine's, and it always refuses a Tegra, where NVML answers and knows nothing. Throws
  // NvmlError.
  explicit NvmlLibrary(const Sysroot& root);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  // True where GEARSHIFT_NVML names the library.
  bool is_named() const { return named_; }
  // After UNINITIALIZED. Throws NvmlError.
  void initialise_again() const;

  NvmlFunction<unsigned*> count{"nvmlDeviceGetCount_v2"};
  NvmlFunction<unsigned, NvmlDevice*> by_index{"nvmlDeviceGetHandleByIndex_v2"};
  NvmlFunction<const char*, NvmlDevice*> by_uuid{"nvmlDeviceGetHandleByUUID"};
  NvmlFunction<NvmlDevice, char*, unsigned> uuid{"nvmlDeviceGetUUID"};
  NvmlFunction<NvmlDevice, char*, unsigned> name{"nvmlDeviceGetName"};
  NvmlFunction<NvmlDevice, int*, int*> capability{"nvmlDeviceGetCudaComputeCapability"};
  NvmlFunction<NvmlDevice, unsigned*, unsigned*> mig_mode{"nvmlDeviceGetMigMode"};
  NvmlFunction<NvmlDevice, unsigned*> power_usage{"nvmlDeviceGetPowerUsage"};
  NvmlFunction<NvmlDevice, int, NvmlFieldValue*> field_values{"nvmlDeviceGetFieldValues"};
  NvmlFunction<NvmlDevice, unsigned long long*> energy{"nvmlDeviceGetTotalEnergyConsumption"};
  NvmlFunction<NvmlDevice, unsigned*> limit{"nvmlDeviceGetPowerManagementLimit"};
  NvmlFunction<NvmlDevice, unsigned*> enforced_limit{"nvmlDeviceGetEnforcedPowerLimit"};
  NvmlFunction<NvmlDevice, unsigned*> default_limit{"nvmlDeviceGetPowerManagementDefaultLimit"};
  NvmlFunction<NvmlDevice, unsigned*, unsigned*> limit_range{
      "nvmlDeviceGetPowerManagementLimitConstraints"};
  NvmlFunction<NvmlDevice, unsigned> set_limit{"nvmlDeviceSetPowerManagementLimit"};
  NvmlFunction<NvmlDevice, unsigned*, unsigned*> memory_clocks{
      "nvmlDeviceGetSupportedMemoryClocks"};
  NvmlFunction<NvmlDevice, unsigned, unsigned*, unsigned*> graphics_clocks{
      "nvmlDeviceGetSupportedGraphicsClocks"};
  NvmlFunction<NvmlDevice, int, unsigned*> clock{"nvmlDeviceGetClockInfo"};
  NvmlFunction<NvmlDevice, unsigned long long*> throttle_reasons{
      "nvmlDeviceGetCurrentClocksThrottleReasons"};
  NvmlFunction<NvmlDevice, unsigned, unsigned> lock_gpu{"nvmlDeviceSetGpuLockedClocks"};
  NvmlFunction<NvmlDevice> unlock_gpu{"nvmlDeviceResetGpuLockedClocks"};
  NvmlFunction<NvmlDevice, unsigned, unsigned> lock_memory{"nvmlDeviceSetMemoryLockedClocks"};
  NvmlFunction<NvmlDevice> unlock_memory{"nvmlDeviceResetMemoryLockedClocks"};

 private:
  void find_functions(void* library);

  NvmlFunction<> init_{"nvmlInit_v2"};
  NvmlFunction<> shutdown_{"nvmlShutdown"};
  bool named_ = false;
};

}  // namespace gearshift

#include "boards/nvml_library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <string_view>

#include "boards/board_description.h"

namespace gearshift {
namespace {

constexpr const char* kVariable = "GEARSHIFT_NVML";
constexpr const char* kLibrary = "libnvidia-ml.so.1";

struct CodeText {
  NvmlCode code;
  std::string_view text;
};
constexpr CodeText kTexts[] = {
    {NvmlCode::uninitialized, "UNINITIALIZED: the driver was unloaded"},
    {NvmlCode::invalid_argument, "INVALID_ARGUMENT: the driver does not take this value"},
    {NvmlCode::not_supported, "NOT_SUPPORTED: this GPU or its driver does not offer it"},
    {NvmlCode::no_permission,
     "NO_PERMISSION: the driver lets root alone set this, or a container with CAP_SYS_ADMIN; run "
     "gearshift as root or with sudo"},
    {NvmlCode::not_found, "NOT_FOUND: there is no such GPU"},
    {NvmlCode::insufficient_size, "INSUFFICIENT_SIZE: the answer is longer than any known one"},
    {NvmlCode::driver_not_loaded,
     "DRIVER_NOT_LOADED: no NVIDIA driver is loaded; nvidia-smi has to work first"},
    {NvmlCode::function_not_found, "FUNCTION_NOT_FOUND: this driver is too old for it"},
    {NvmlCode::gpu_is_lost,
     "GPU_IS_LOST: the GPU has fallen off the bus; the kernel log (Xid) says why, and a reboot "
     "brings it back"},
    {NvmlCode::reset_required,
     "RESET_REQUIRED: stop what uses the GPU and run nvidia-smi --gpu-reset"},
    {NvmlCode::version_mismatch,
     "LIB_RM_VERSION_MISMATCH: the driver was updated and its old kernel module is still loaded; "
     "reboot"},
};

// Refuses where no GPU of this machine may be touched.
void check_machine(const Sysroot& root, bool named) {
  if (!named && root.prefix() != "/") {
    throw NvmlError("NVML would tell of this machine's GPUs, not of those below the sysroot " +
                        root.prefix().string(),
                    NvmlCode::library_not_found);
  }
  if (is_tegra(root)) {
    throw NvmlError("NVML is not used on a Tegra: it answers there and reports nothing",
                    NvmlCode::not_supported);
  }
}

template <typename... Arguments>
void find(void* library, NvmlFunction<Arguments...>& function) {
  function.call = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, function.name));
}

}  // namespace

std::string explain(NvmlCode code) {
  for (const CodeText& known : kTexts) {
    if (known.code == code) return std::string(known.text);
  }
  return "NVML error " + std::to_string(static_cast<int>(code));
}

NvmlLibrary::NvmlLibrary(const Sysroot& root) {
  // Not of a program that was given more rights than its caller has.
  const char* const variable = secure_getenv(kVariable);
  named_ = variable != nullptr;
  check_machine(root, named_);
  const char* const file = named_ ? variable : kLibrary;
  if (*file == '\0') {
    throw NvmlError(std::string(kVariable) + " is empty: NVML is not used",
                    NvmlCode::library_not_found);
  }
  void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = dlerror();
    throw NvmlError(
        "no NVML: " + std::string(why != nullptr ? why : file) + "; it comes with NVIDIA's driver",
        NvmlCode::library_not_found);
  }
  find_functions(library);
  if (init_.call == nullptr || shutdown_.call == nullptr) {
    throw NvmlError(std::string(file) + " is no NVML: it has no " + init_.name,
                    NvmlCode::library_not_found);
  }
  initialise_again();
}

void NvmlLibrary::find_functions(void* library) {
  const auto find_all = [library](auto&... functions) { (find(library, functions), ...); };
  find_all(init_, shutdown_, count, by_index, by_uuid, uuid, name, capability, mig_mode,
           power_usage, field_values, energy, limit, enforced_limit, default_limit, limit_range,
           set_limit, memory_clocks, graphics_clocks, clock, throttle_reasons, lock_gpu, unlock_gpu,
           lock_memory, unlock_memory);
}

void NvmlLibrary::initialise_again() const {
  const auto code = static_cast<NvmlCode>(init_.call());
  if (code != NvmlCode::success) {
    throw NvmlError(std::string(init_.name) + ": " + explain(code), code);
  }
}

NvmlLibrary::~NvmlLibrary() { shutdown_.call(); }

}  // namespace gearshift

// Plays NVIDIA's management library for tests: a shared library whose GPUs are folders of small
// files, so that a test says what they answer and sees what was set, in any process.
//
// GEARSHIFT_FAKE_NVML names the folder; gpu0, gpu1, ... in it are the GPUs. A file holds the answer
// in NVML's unit, or "error N" for a return code; a missing one answers NOT_SUPPORTED. `init` and
// `lost` decide for every call, of the library and of one GPU. `reloaded`: the driver was unloaded
// and loaded again, so that every call answers UNINITIALIZED until nvmlInit, which removes it.
// `hang`, a FIFO: calls of that GPU hang until somebody opens it to write. What is set goes to
// limit_mw and to gpu_lock and memory_lock ("MHz MHz", empty: unlocked), where the clocks follow.
// energy_mj may be "mJ ns mW": so much at that time of the monotonic clock, and so much drawn
// since. set_limit and set_clocks say what setting does: "error N", or "ignore", which answers
// success and sets nothing.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "boards/nvml_library.h"
#include "cli/boottime_clock.h"

namespace {

using Folder = std::filesystem::path;
constexpr int kSuccess = 0;
constexpr int kUninitialized = 1;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

Folder root() {
  const char* const folder = std::getenv("GEARSHIFT_FAKE_NVML");
  return folder != nullptr ? folder : "";
}

std::optional<std::string> read(const Folder& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// In one step, so that no reader sees half of it.
void write(const Folder& path, const std::string& text) {
  const Folder fresh = path.string() + ".new";
  std::ofstream(fresh, std::ios::binary) << text;
  std::filesystem::rename(fresh, path);
}

// The code of "error N"; success for any other text.
int code_in(const std::string& text) {
  return text.starts_with("error ") ? std::atoi(text.c_str() + 6) : kSuccess;
}

int code_of(const Folder& path) {
  const auto text = read(path);
  return text ? code_in(*text) : kSuccess;
}

Folder folder_of(void* device) {
  return root() / ("gpu" + std::to_string(reinterpret_cast<std::uintptr_t>(device) - 1));
}

void* device_of(unsigned index) { return reinterpret_cast<void*>(std::uintptr_t{index} + 1); }

unsigned gpu_count() {
  unsigned count = 0;
  while (std::filesystem::exists(root() / ("gpu" + std::to_string(count)))) ++count;
  return count;
}

int check_library() {
  return std::filesystem::exists(root() / "reloaded") ? kUninitialized : code_of(root() / "init");
}

int check(void* device) {
  read(folder_of(device) / "hang");
  const int code = check_library();
  return code != kSuccess ? code : code_of(folder_of(device) / "lost");
}

// The numbers of a file, at least `least` of them.
int numbers(void* device, const char* name, std::size_t least, std::vector<long long>& values) {
  if (const int code = check(device); code != kSuccess) return code;
  const auto text = read(folder_of(device) / name);
  if (!text) return kNotSupported;
  if (const int code = code_in(*text); code != kSuccess) return code;
  std::istringstream in(*text);
  for (long long value = 0; in >> value;) values.push_back(value);
  return values.size() < least ? kNotSupported : kSuccess;
}

template <typename Number>
int number(void* device, const char* name, Number* value) {
  std::vector<long long> values;
  const int code = numbers(device, name, 1, values);
  if (code == kSuccess) *value = static_cast<Number>(values[0]);
  return code;
}

template <typename Number>
int pair(void* device, const char* name, Number* first, Number* second) {
  std::vector<long long> values;
  const int code = numbers(device, name, 2, values);
  if (code != kSuccess) return code;
  *first = static_cast<Number>(values[0]);
  *second = static_cast<Number>(values[1]);
  return kSuccess;
}

int list(void* device, const char* name, unsigned* count, unsigned* values) {
  std::vector<long long> found;
  if (const int code = numbers(device, name, 0, found); code != kSuccess) return code;
  const unsigned room = *count;
  *count = static_cast<unsigned>(found.size());
  if (found.size() > room) return kInsufficientSize;
  for (std::size_t i = 0; i < found.size(); ++i) values[i] = static_cast<unsigned>(found[i]);
  return kSuccess;
}

int text(void* device, const char* name, char* buffer, unsigned size) {
  if (const int code = check(device); code != kSuccess) return code;
  const std::string value = read(folder_of(device) / name).value_or("");
  if (const int code = code_in(value); code != kSuccess) return code;
  if (value.size() + 1 > size) return kInsufficientSize;
  std::memcpy(buffer, value.c_str(), value.size() + 1);
  return kSuccess;
}

// What setting does; nullopt: it sets.
std::optional<int> refusal(void* device, const char* name) {
  if (const int code = check(device); code != kSuccess) return code;
  const auto rule = read(folder_of(device) / name);
  if (!rule) return std::nullopt;
  return code_in(*rule);  // success for "ignore"
}

int lock(void* device, const char* lock_file, const char* clock_file, unsigned least,
         unsigned most) {
  if (const auto code = refusal(device, "set_clocks")) return *code;
  const Folder folder = folder_of(device);
  if (std::filesystem::exists(folder / (std::string(lock_file) + "_refused"))) return kNotSupported;
  write(folder / lock_file, std::to_string(least) + ' ' + std::to_string(most));
  write(folder / clock_file, std::to_string(most));
  return kSuccess;
}

int unlock(void* device, const char* lock_file) {
  if (const auto code = refusal(device, "set_clocks")) return *code;
  write(folder_of(device) / lock_file, "");
  return kSuccess;
}

}  // namespace

// The names are NVIDIA's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int nvmlInit_v2() {
  std::filesystem::remove(root() / "reloaded");
  return check_library();
}
int nvmlShutdown() { return kSuccess; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = gpu_count();
  return check_library();
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= gpu_count()) return kInvalidArgument;
  *device = device_of(index);
  return check(*device);
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  for (unsigned i = 0; i < gpu_count(); ++i) {
    *device = device_of(i);
    if (read(folder_of(*device) / "uuid") == uuid) return check(*device);
  }
  return kNotFound;
}
int nvmlDeviceGetUUID(void* device, char* buffer, unsigned size) {
  return text(device, "uuid", buffer, size);
}
int nvmlDeviceGetName(void* device, char* buffer, unsigned size) {
  return text(device, "name", buffer, size);
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  return pair(device, "capability", major, minor);
}
int nvmlDeviceGetMigMode(void* device, unsigned* mode, unsigned* pending) {
  return pair(device, "mig", mode, pending);
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* power) {
  return number(device, "power_usage", power);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* energy) {
  std::vector<long long> values;
  const int code = numbers(device, "energy_mj", 1, values);
  if (code != kSuccess) return code;
  double counted_mj = static_cast<double>(values[0]);
  if (values.size() == 3) {
    const std::chrono::duration<double> since =
        gearshift::monotonic_since_boot() - std::chrono::nanoseconds(values[1]);
    counted_mj += since.count() * static_cast<double>(values[2]);
  }
  *energy = static_cast<unsigned long long>(counted_mj);
  return kSuccess;
}
int nvmlDeviceGetFieldValues(void* device, int count, gearshift::NvmlFieldValue* values) {
  if (const int code = check(device); code != kSuccess) return code;
  for (int i = 0; i < count; ++i) {
    const bool instant = values[i].field == 186;  // NVML_FI_DEV_POWER_INSTANT
    values[i].type = 1;                           // NVML_VALUE_TYPE_UNSIGNED_INT
    values[i].code =
        instant ? number(device, "power_instant", &values[i].value.integer) : kNotSupported;
  }
  return kSuccess;
}

int nvmlDeviceGetPowerManagementLimit(void* device, unsigned* limit) {
  return number(device, "limit_mw", limit);
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* limit) {
  return number(device, "enforced_mw", limit);
}
int nvmlDeviceGetPowerManagementDefaultLimit(void* device, unsigned* limit) {
  return number(device, "limit_default_mw", limit);
}
int nvmlDeviceGetPowerManagementLimitConstraints(void* device, unsigned* least, unsigned* most) {
  return pair(device, "limit_range_mw", least, most);
}
int nvmlDeviceSetPowerManagementLimit(void* device, unsigned limit) {
  if (const auto code = refusal(device, "set_limit")) return *code;
  unsigned least = 0;
  unsigned most = 0;
  const int code = pair(device, "limit_range_mw", &least, &most);
  if (code != kSuccess) return code;
  if (limit < least || limit > most) return kInvalidArgument;
  write(folder_of(device) / "limit_mw", std::to_string(limit));
  return kSuccess;
}

int nvmlDeviceGetSupportedMemoryClocks(void* device, unsigned* count, unsigned* clocks) {
  return list(device, "memory_clocks", count, clocks);
}
int nvmlDeviceGetSupportedGraphicsClocks(void* device, unsigned memory, unsigned* count,
                                         unsigned* clocks) {
  const std::string own = "graphics_clocks_" + std::to_string(memory);
  const bool has_own = std::filesystem::exists(folder_of(device) / own);
  return list(device, has_own ? own.c_str() : "graphics_clocks", count, clocks);
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* clock) {
  return number(device, type == 2 ? "memory_clock" : "gpu_clock", clock);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return number(device, "reasons", reasons);
}
int nvmlDeviceSetGpuLockedClocks(void* device, unsigned least, unsigned most) {
  return lock(device, "gpu_lock", "gpu_clock", least, most);
}
int nvmlDeviceResetGpuLockedClocks(void* device) { return unlock(device, "gpu_lock"); }
int nvmlDeviceSetMemoryLockedClocks(void* device, unsigned least, unsigned most) {
  return lock(device, "memory_lock", "memory_clock", least, most);
}
int nvmlDeviceResetMemoryLockedClocks(void* device) { return unlock(device, "memory_lock"); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

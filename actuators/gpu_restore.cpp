#include "actuators/gpu_restore.h"

#include <charconv>
#include <cstdint>
#include <stdexcept>

#include "boards/nvml_gpu.h"

namespace gearshift {
namespace {

constexpr std::string_view kFolder = "/nvml/";

bool is_gpu_role(SavedRole role) {
  return role == SavedRole::gpu_power_limit || role == SavedRole::gpu_clock_lock ||
         role == SavedRole::gpu_memory_lock;
}

std::string uuid_in(const std::string& path) {
  if (!path.starts_with(kFolder)) throw std::runtime_error("names no GPU");
  const std::string_view rest = std::string_view(path).substr(kFolder.size());
  return std::string(rest.substr(0, rest.find('/')));
}

// What was done, in words.
std::string restore_limit(NvmlGpu& gpu, const std::string& text) {
  std::int64_t limit_mw = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit_mw);
  if (error != std::errc() || end != text.data() + text.size() || limit_mw <= 0) {
    throw std::runtime_error("'" + text + "' is no power limit in mW");
  }
  const std::int64_t before_mw = gpu.power_limit_mw();
  if (before_mw == limit_mw) return text + " mW (unchanged)";
  gpu.set_power_limit_mw(limit_mw);
  const std::int64_t after_mw = gpu.power_limit_mw();
  if (after_mw != limit_mw) {
    throw std::runtime_error("set " + text + " mW, reads " + std::to_string(after_mw) +
                             " mW; set it by hand with nvidia-smi -i " + gpu.uuid() + " -pl " +
                             std::to_string(limit_mw / 1000));
  }
  return text + " mW (was " + std::to_string(before_mw) + " mW)";
}

std::string restore(const Sysroot& root, const SavedEntry& entry) {
  NvmlGpu gpu(root, uuid_in(entry.path));
  if (entry.role == SavedRole::gpu_power_limit) return restore_limit(gpu, entry.text);
  gpu.unlock_clock(entry.role == SavedRole::gpu_clock_lock ? ClockDomain::graphics
                                                           : ClockDomain::memory);
  return "unlocked";
}

}  // namespace

std::string gpu_path(std::string_view uuid, std::string_view setting) {
  return std::string(kFolder) + std::string(uuid) + '/' + std::string(setting);
}

std::vector<SavedEntry> restore_gpus(const Sysroot& root, const std::vector<SavedEntry>& entries,
                                     RestoreReport& report) {
  std::vector<SavedEntry> failed;
  for (const SavedEntry& entry : entries) {
    if (!is_gpu_role(entry.role)) continue;
    try {
      report.restored.push_back(entry.path + ": " + restore(root, entry));
    } catch (const std::runtime_error& error) {
      report.failed.push_back(entry.path + ": " + error.what());
      failed.push_back(entry);
    }
  }
  return failed;
}

}  // namespace gearshift

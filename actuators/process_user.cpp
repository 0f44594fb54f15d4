#include "actuators/process_user.h"

#include <string>

#include "controller/process_status.h"

namespace gearshift {

std::optional<std::uint32_t> user_of_process(const Sysroot& root, std::int64_t pid) {
  if (pid <= 0) return std::nullopt;
  return user_in_status(root.try_read("/proc/" + std::to_string(pid) + "/status").value_or(""));
}

}  // namespace gearshift

// What the sensors of the kernel's hardware monitors (hwmon) share.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace gearshift {

inline constexpr std::string_view kHwmon = "/sys/class/hwmon";

// The name of an errno that a read gave, "EAGAIN"; its number where it has no name.
inline std::string error_text(int code) {
  const char* name = strerrorname_np(code);
  return name != nullptr ? name : "errno " + std::to_string(code);
}

}  // namespace gearshift

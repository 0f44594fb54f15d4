#include "actuators/process_user.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace gearshift {

std::optional<std::uint32_t> user_of_process(const Sysroot& root, std::int64_t pid) {
  const std::string status = root.try_read("/proc/" + std::to_string(pid) + "/status").value_or("");
  constexpr std::string_view kUsers = "\nUid:";
  const std::size_t at = status.find(kUsers);
  if (pid <= 0 || at == std::string::npos) return std::nullopt;
  const std::size_t begin = at + kUsers.size();
  const std::string line = status.substr(begin, status.find('\n', begin) - begin);
  const char* next = line.data();
  const char* const end = line.data() + line.size();
  std::array<std::uint32_t, 2> users{};
  for (std::uint32_t& user : users) {
    next = std::find_if(next, end, [](char c) { return c != '\t' && c != ' '; });
    const auto [stop, error] = std::from_chars(next, end, user);
    if (error != std::errc()) return std::nullopt;
    next = stop;
  }
  return users[0] == users[1] ? std::optional(users[0]) : std::nullopt;
}

}  // namespace gearshift

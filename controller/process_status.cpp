#include "controller/process_status.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace gearshift {

std::optional<std::uint32_t> user_in_status(std::string_view text) {
  constexpr std::string_view kUsers = "\nUid:";
  const std::size_t at = text.find(kUsers);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = at + kUsers.size();
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
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

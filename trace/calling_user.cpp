#include "trace/calling_user.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace gearshift {
namespace {

unsigned number_in(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  const std::string_view digits = text == nullptr ? "" : text;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : otherwise;
}

}  // namespace

CallingUser calling_user() {
  if (geteuid() != 0) return {geteuid(), getegid()};
  return {number_in("SUDO_UID", 0), number_in("SUDO_GID", getegid())};
}

}  // namespace gearshift

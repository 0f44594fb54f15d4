// Text of bounded length for scripts: string.format, tostring and what joins strings.
// Every function that takes a lua_State may raise a Lua error.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

struct lua_State;

namespace gearshift {

inline constexpr std::size_t kFormattedBytes = 1024;
inline constexpr std::size_t kNumberBytes = 48;

// Trivially destructible: it lives in frames that a Lua error may leave.
struct FormattedText {
  std::array<char, kFormattedBytes> bytes;
  std::size_t length = 0;
  bool overflowed = false;

  // False, and nothing is added, where the text would not fit.
  bool append(std::string_view text) noexcept {
    if (text.size() > bytes.size() - length) {
      overflowed = true;
      return false;
    }
    std::copy(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    length += text.size();
    return true;
  }
};

// Pushes the text; raises "<what>: ..." if it overflowed.
int push_formatted(lua_State* lua, const FormattedText& text, const char* what);

// The value at `index` as text without its address: a table is "table". Points into `digits`, into
// the string at `index`, or to a constant.
std::string_view plain_text(lua_State* lua, int index, std::array<char, kNumberBytes>& digits);

// string.format with %d %i %x %X %c %e %f %g %s and %%; at most 1024 bytes of result.
int string_format(lua_State* lua);

}  // namespace gearshift

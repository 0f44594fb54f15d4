#include "policies/lua/format.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <lua.hpp>

#include "policies/lua/script_state.h"

namespace gearshift {
namespace {

// Room for one byte more than a result may have, so that what is cut is too long, and for an end;
// a number at the largest width and precision ("%99.99f" of 1e308) takes less.
constexpr std::size_t kItemBytes = kFormattedBytes + 2;

// One "%5.1f" of a format: its text for snprintf (with "ll" before an integer conversion).
struct Conversion {
  std::array<char, 16> spec;
  char letter = 0;
  std::size_t length = 0;  // in the format string
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads what follows a '%'. `letter` stays 0 where it is not a conversion.
Conversion read_conversion(std::string_view format) noexcept {
  Conversion conversion;
  std::size_t at = 0;
  const auto here = [&] { return at < format.size() ? format[at] : '\0'; };
  while (at < 5 && here() != '\0' && std::strchr("-+ #0", here()) != nullptr) ++at;
  for (int digits = 0; digits < 2 && is_digit(here()); ++digits) ++at;
  if (here() == '.') {
    ++at;
    for (int digits = 0; digits < 2 && is_digit(here()); ++digits) ++at;
  }
  const char letter = here();
  if (letter == '\0' || std::strchr("dixXcefgs", letter) == nullptr) return conversion;
  const bool integer = std::strchr("dixX", letter) != nullptr;
  std::snprintf(conversion.spec.data(), conversion.spec.size(), "%%%.*s%s%c", static_cast<int>(at),
                format.data(), integer ? "ll" : "", letter);
  conversion.letter = letter;
  conversion.length = at + 1;
  return conversion;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void append_item(lua_State* lua, const Conversion& conversion, int argument, FormattedText& text) {
  std::array<char, kItemBytes> item;
  int length = 0;
  if (conversion.letter == 's') {
    std::array<char, kNumberBytes> digits;
    const std::string_view value = plain_text(lua, argument, digits);
    if (conversion.spec[1] == 's') {
      text.append(value);
      return;
    }
    std::array<char, kItemBytes> ended;
    const std::size_t kept = std::min(value.size(), ended.size() - 1);
    std::copy_n(value.begin(), kept, ended.begin());
    ended[kept] = '\0';
    length = std::snprintf(item.data(), item.size(), conversion.spec.data(), ended.data());
  } else if (conversion.letter == 'c') {
    length = std::snprintf(item.data(), item.size(), conversion.spec.data(),
                           static_cast<int>(luaL_checkinteger(lua, argument) & 0xff));
  } else if (std::strchr("efg", conversion.letter) != nullptr) {
    length = std::snprintf(item.data(), item.size(), conversion.spec.data(),
                           luaL_checknumber(lua, argument));
  } else {
    length = std::snprintf(item.data(), item.size(), conversion.spec.data(),
                           static_cast<long long>(luaL_checkinteger(lua, argument)));
  }
  text.append({item.data(), std::min(static_cast<std::size_t>(length), item.size() - 1)});
}
#pragma GCC diagnostic pop

}  // namespace

int push_formatted(lua_State* lua, const FormattedText& text, const char* what) {
  if (text.overflowed) {
    return luaL_error(lua, "%s: the result is longer than %d bytes", what,
                      static_cast<int>(kFormattedBytes));
  }
  lua_pushlstring(lua, text.bytes.data(), text.length);
  return 1;
}

std::string_view plain_text(lua_State* lua, int index, std::array<char, kNumberBytes>& digits) {
  std::size_t length = 0;
  switch (lua_type(lua, index)) {
    case LUA_TSTRING: {
      const char* text = lua_tolstring(lua, index, &length);
      return {text, length};
    }
    case LUA_TNUMBER:
      if (lua_isinteger(lua, index)) {
        length = static_cast<std::size_t>(std::snprintf(
            digits.data(), digits.size(), LUA_INTEGER_FMT, lua_tointeger(lua, index)));
      } else {
        const double number = lua_tonumber(lua, index);
        const bool whole = std::abs(number) < 1e14 && number == std::floor(number);
        length = static_cast<std::size_t>(
            std::snprintf(digits.data(), digits.size(), whole ? "%.1f" : "%.14g", number));
      }
      return {digits.data(), length};
    case LUA_TBOOLEAN:
      return lua_toboolean(lua, index) != 0 ? "true" : "false";
    default:
      return luaL_typename(lua, index);
  }
}

int string_format(lua_State* lua) {
  std::size_t length = 0;
  const char* start = luaL_checklstring(lua, 1, &length);
  const std::string_view format(start, length);
  FormattedText text;
  int argument = 1;
  std::size_t at = 0;
  while (at < format.size() && !text.overflowed) {
    const std::size_t percent = std::min(format.find('%', at), format.size());
    text.append(format.substr(at, percent - at));
    at = percent + 1;
    if (at > format.size()) break;
    if (at < format.size() && format[at] == '%') {
      text.append("%");
      ++at;
      continue;
    }
    const Conversion conversion = read_conversion(format.substr(at));
    if (conversion.letter == 0) {
      return luaL_error(lua, "string.format: invalid conversion at byte %d of the format",
                        static_cast<int>(at));
    }
    luaL_checkany(lua, ++argument);
    append_item(lua, conversion, argument, text);
    at += conversion.length;
  }
  // Printing digits is slow: about 10 ns a byte.
  charge(lua, static_cast<std::int64_t>(2 * text.length));
  return push_formatted(lua, text, "string.format");
}

}  // namespace gearshift

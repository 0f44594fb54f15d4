#include "policies/lua/traceback.h"

#include <algorithm>
#include <lua.hpp>

#include "controller/printable_text.h"

namespace gearshift {
namespace {

constexpr int kMaxLevels = 20;
constexpr std::size_t kMaxMessageBytes = 600;

std::string function_text(const lua_Debug& call) {
  if (std::string_view(call.what) == "main") return "main chunk";
  if (call.name != nullptr) {
    return std::string(call.namewhat) + (*call.namewhat ? " '" : "'") + call.name + "'";
  }
  return "function at line " + std::to_string(call.linedefined);
}

// Scripts choose error texts, and terminals obey control characters.
std::string printable(std::string_view text) {
  std::string cleaned(text.substr(0, kMaxMessageBytes));
  hide_unprintable(cleaned, '\n');
  return cleaned;
}

}  // namespace

std::string traceback(lua_State* coroutine, std::string_view name, std::string_view message,
                      int fallback_line) {
  std::string calls;
  std::string first_place;
  lua_Debug call;
  int level = 0;
  for (; level < kMaxLevels && lua_getstack(coroutine, level, &call) != 0; ++level) {
    lua_getinfo(coroutine, "Sln", &call);
    if (call.currentline < 0) continue;  // C functions have no line; their callers name them
    const std::string place = std::string(call.short_src) + ":" + std::to_string(call.currentline);
    if (first_place.empty() && call.short_src == name) first_place = place;
    calls += "\n  " + place + ": in " + function_text(call);
  }
  if (level == kMaxLevels) calls += "\n  ...";
  if (first_place.empty()) {
    first_place = std::string(name) + ":" + std::to_string(std::max(fallback_line, 1));
  }
  std::string text = printable(message);
  if (text.rfind(std::string(name) + ":", 0) != 0) text.insert(0, first_place + ": ");
  if (!calls.empty()) text += "\ncalls:" + calls;
  return text;
}

}  // namespace gearshift

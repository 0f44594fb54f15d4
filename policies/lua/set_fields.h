// Sets fields of the Lua table on top of the stack, and pushes what they are made of. Every
// function may raise a Lua error, so callers hold only trivially destructible values.
#pragma once

#include <cstdint>
#include <string_view>

#include "controller/clock.h"
#include "controller/knob.h"

struct lua_State;

namespace gearshift {

void set_number(lua_State* lua, const char* field, double value);
void set_integer(lua_State* lua, const char* field, std::int64_t value);
void set_text(lua_State* lua, const char* field, std::string_view text);
void set_flag(lua_State* lua, const char* field, bool value);

void push_text(lua_State* lua, std::string_view text);
// In the unit that people read: 3199 MHz of 3,199,000 kHz. Whole numbers as integers, so that they
// print as people write them: 3199, not 3199.0.
void push_scaled(lua_State* lua, std::int64_t value, Unit unit);

constexpr double milliseconds(Duration duration) {
  return static_cast<double>(duration.count()) / 1e6;
}

}  // namespace gearshift

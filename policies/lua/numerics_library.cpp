#include "policies/lua/numerics_library.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <lua.hpp>
#include <span>

#include "policies/lua/script_state.h"
#include "policies/lua/terms.h"
#include "policies/numerics/least_squares.h"
#include "policies/numerics/nonnegative_fit.h"

namespace gearshift {
namespace {

constexpr double kMostNumber = 1e100;   // products of three stay finite
constexpr std::int64_t kKeyCharge = 2;  // instructions that looking at one key of a row counts as

// What a script hands to a fit, copied: nothing of Lua is touched while it is worked on.
struct FitInput {
  std::array<double, kMaxFitRows * kMaxFitColumns> features;
  std::array<double, kMaxFitRows> targets;
  std::array<double, kMaxFitColumns> weights;
  std::size_t rows = 0;
  std::size_t columns = 0;

  std::span<const double> all_features() const { return {features.data(), rows * columns}; }
  std::span<const double> all_targets() const { return {targets.data(), rows}; }
  std::span<double> all_weights() { return {weights.data(), columns}; }
};

// The length of the list at `index`, which must be from 1 to `most`.
std::size_t list_length(lua_State* lua, int index, int most, const char* what) {
  if (lua_type(lua, index) != LUA_TTABLE) {
    luaL_error(lua, "numerics: %s: expected a list, got %s", what, luaL_typename(lua, index));
  }
  const auto length = static_cast<std::size_t>(lua_rawlen(lua, index));
  if (length < 1 || length > static_cast<std::size_t>(most)) {
    luaL_error(lua, "numerics: %s: %d values; 1 to %d can be taken", what, static_cast<int>(length),
               most);
  }
  return length;
}

// Copies the numbers of the list at `index` to `into`.
void copy_numbers(lua_State* lua, int index, std::size_t length, const char* what, double* into) {
  for (std::size_t i = 0; i < length; ++i) {
    lua_rawgeti(lua, index, static_cast<lua_Integer>(i + 1));
    into[i] = lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : NAN;
    if (!(std::abs(into[i]) <= kMostNumber)) {
      luaL_error(lua, "numerics: %s: value %d: expected a number from -1e100 to 1e100, got %s",
                 what, static_cast<int>(i + 1), shown(lua, -1));
    }
    lua_pop(lua, 1);
  }
}

// Raises an error where the row on top of the stack has more than its `columns` numbers and
// `fields`. Keys may all lie in one chain of their table, in which looking for the next is slow: of
// a row with far too many so many are walked and no more. Their order is chance, so such a row's
// error names none.
void check_row(lua_State* lua, std::size_t row, std::size_t columns,
               std::initializer_list<const char*> fields) {
  constexpr std::size_t kNamed = 8;  // keys too many that an error names the first of
  const int table = lua_gettop(lua);
  const char* allowed = fields.size() > 0 ? "beside its numbers a row may have at_least, weight"
                                          : "a row has numbers alone";
  const std::size_t most = columns + fields.size() + kNamed;
  std::size_t keys = 0;
  std::size_t names = 0;
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    lua_pop(lua, 1);
    if (lua_type(lua, -1) == LUA_TSTRING) ++names;
    if (++keys > most) {
      luaL_error(lua, "numerics: row %d has more than %d keys: %s", static_cast<int>(row + 1),
                 static_cast<int>(most), allowed);
    }
  }
  charge(lua, kKeyCharge * static_cast<std::int64_t>(columns + keys));
  if (const char* unknown = unknown_name(lua, table, fields)) {
    luaL_error(lua, "numerics: row %d: unknown field '%s': %s", static_cast<int>(row + 1), unknown,
               allowed);
  }
  if (keys - names > columns) {
    luaL_error(lua, "numerics: row %d: its numbers end at %d, and it has %d keys more",
               static_cast<int>(row + 1), static_cast<int>(columns),
               static_cast<int>(keys - names - columns));
  }
}

// Takes rows (argument 1), which may have `fields` beside their numbers, and targets (argument 2),
// one a row.
void copy_fit(lua_State* lua, FitInput& input, std::initializer_list<const char*> fields) {
  input.rows = list_length(lua, 1, kMaxFitRows, "rows");
  for (std::size_t row = 0; row < input.rows; ++row) {
    lua_rawgeti(lua, 1, static_cast<lua_Integer>(row + 1));
    const std::size_t columns = list_length(lua, lua_gettop(lua), kMaxFitColumns, "a row");
    if (row == 0) input.columns = columns;
    if (columns != input.columns) {
      luaL_error(lua, "numerics: row %d has %d values, row 1 has %d; all must be equally long",
                 static_cast<int>(row + 1), static_cast<int>(columns),
                 static_cast<int>(input.columns));
    }
    copy_numbers(lua, lua_gettop(lua), columns, "a row", &input.features[row * columns]);
    check_row(lua, row, columns, fields);
    lua_pop(lua, 1);
  }
  if (list_length(lua, 2, kMaxFitRows, "targets") != input.rows) {
    luaL_error(lua, "numerics: targets: as many as rows (%d) are needed",
               static_cast<int>(input.rows));
  }
  copy_numbers(lua, 2, input.rows, "targets", input.targets.data());
}

void push_weights(lua_State* lua, const char* function, const FitInput& input) {
  lua_createtable(lua, static_cast<int>(input.columns), 0);
  for (std::size_t i = 0; i < input.columns; ++i) {
    if (!std::isfinite(input.weights[i])) {
      luaL_error(lua, "%s: the weights are not finite; bring rows and targets closer to 1",
                 function);
    }
    lua_pushnumber(lua, input.weights[i]);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
  }
}

int least_squares_of_rows(lua_State* lua) {
  FitInput input;
  copy_fit(lua, input, {});
  charge(lua, static_cast<std::int64_t>(input.rows * input.columns * input.columns));
  least_squares(input.all_features(), input.all_targets(), input.all_weights());
  push_weights(lua, "numerics.least_squares", input);
  return 1;
}

// A number of the table at `index`, or `otherwise` where it has none.
double number_field(lua_State* lua, int index, const char* name, double otherwise) {
  lua_getfield(lua, index, name);
  double value = otherwise;
  if (!lua_isnil(lua, -1)) {
    if (lua_type(lua, -1) != LUA_TNUMBER) {
      luaL_error(lua, "numerics: %s: expected a number, got %s", name, luaL_typename(lua, -1));
    }
    value = lua_tonumber(lua, -1);
  }
  lua_pop(lua, 1);
  if (!(value >= 0 && value <= kMostNumber)) {
    luaL_error(lua, "numerics: %s: %f; a number from 0 to 1e100 is needed", name, value);
  }
  return value;
}

void copy_fit_rows(lua_State* lua, FitInput& input, std::array<FitRow, kMaxFitRows>& rows) {
  for (std::size_t row = 0; row < input.rows; ++row) {
    lua_rawgeti(lua, 1, static_cast<lua_Integer>(row + 1));
    lua_getfield(lua, -1, "at_least");
    if (!lua_isnil(lua, -1) && !lua_isboolean(lua, -1)) {
      luaL_error(lua, "numerics: row %d: at_least: expected true or false, got %s",
                 static_cast<int>(row + 1), luaL_typename(lua, -1));
    }
    rows[row] = {input.all_features().subspan(row * input.columns, input.columns),
                 input.targets[row], number_field(lua, lua_gettop(lua) - 1, "weight", 1),
                 lua_toboolean(lua, -1) != 0};
    lua_pop(lua, 2);
  }
}

int nonnegative_fit_of_rows(lua_State* lua) {
  FitInput input;
  copy_fit(lua, input, {"at_least", "weight"});
  std::array<FitRow, kMaxFitRows> rows;
  copy_fit_rows(lua, input, rows);
  std::array<double, kMaxFitColumns> expected;
  if (list_length(lua, 3, kMaxFitColumns, "expected") != input.columns) {
    return luaL_error(lua, "numerics: expected: as many as a row has values (%d) are needed",
                      static_cast<int>(input.columns));
  }
  copy_numbers(lua, 3, input.columns, "expected", expected.data());
  const double pull = lua_type(lua, 4) == LUA_TNUMBER ? lua_tonumber(lua, 4) : NAN;
  if (!(pull > 0 && pull <= 1e9)) {
    return luaL_error(lua, "numerics: pull: expected a number above 0, at most 1e9, got %s",
                      shown(lua, 4));
  }
  // In instructions of about 8 multiplications: building a small system, and solving it, several
  // times.
  const std::size_t columns = input.columns;
  charge(lua, static_cast<std::int64_t>((50 * input.rows + 4 * columns * columns) * columns));
  nonnegative_fit({rows.data(), input.rows}, {expected.data(), input.columns}, pull,
                  input.all_weights());
  push_weights(lua, "numerics.nonnegative_fit", input);
  return 1;
}

}  // namespace

void add_numerics(lua_State* lua) {
  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, least_squares_of_rows);
  lua_setfield(lua, -2, "least_squares");
  lua_pushcfunction(lua, nonnegative_fit_of_rows);
  lua_setfield(lua, -2, "nonnegative_fit");
  lua_setfield(lua, -2, "numerics");
}

}  // namespace gearshift

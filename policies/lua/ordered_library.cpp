#include "policies/lua/ordered_library.h"

#include <cstring>
#include <lua.hpp>

namespace gearshift {
namespace {

// pairs visits numbers first, then strings, each in ascending order: the order of a hash table
// changes from run to run. sort is a merge sort: it ends whatever the comparison says, takes
// n log n comparisons at most, and keeps the order of equal values.
constexpr const char kText[] = R"lua(
local library, next = ...
local error, select, type = library.error, library.select, library.type

local function check(name, value)
  if type(value) ~= "table" then
    error(name .. ": expected a table, got " .. type(value), 3)
  end
end

local function whole(what, position)
  if position % 1 ~= 0 then error(what .. ": the position has no integer representation", 3) end
end

local function merge(from, into, before, start, middle, stop)
  local left, right = start, middle
  for i = start, stop - 1 do
    if left < middle and (right >= stop or not before(from[right], from[left])) then
      into[i], left = from[left], left + 1
    else
      into[i], right = from[right], right + 1
    end
  end
end

local function ascending(a, b) return a < b end

local function sort(list, before)
  check("table.sort", list)
  before = before or ascending
  if type(before) ~= "function" then
    error("table.sort: expected a function that compares, got " .. type(before), 2)
  end
  local from, into, count, width = list, {}, #list, 1
  while width < count do
    for start = 1, count, 2 * width do
      local middle, stop = start + width, start + 2 * width
      if middle > count + 1 then middle = count + 1 end
      if stop > count + 1 then stop = count + 1 end
      merge(from, into, before, start, middle, stop)
    end
    from, into, width = into, from, 2 * width
  end
  if from ~= list then
    for i = 1, count do list[i] = from[i] end
  end
end

function library.pairs(values)
  check("pairs", values)
  local keys, texts = {}, {}
  for key in next, values do
    if type(key) == "number" then
      keys[#keys + 1] = key
    elseif type(key) == "string" then
      texts[#texts + 1] = key
    else
      error("pairs: a " .. type(key) .. " as a key has no order; use numbers and strings", 2)
    end
  end
  sort(keys)
  sort(texts)
  local count = #keys
  for i = 1, #texts do keys[count + i] = texts[i] end
  local i = 0
  return function()
    local key, value
    repeat
      i = i + 1
      key = keys[i]
      if key == nil then return nil end
      value = values[key]
    until value ~= nil
    return key, value
  end
end

library.table.sort = sort

function library.table.insert(list, ...)
  check("table.insert", list)
  local count, given = #list, select("#", ...)
  local position, value = ...
  if given == 1 then
    position, value = count + 1, position
  elseif given ~= 2 or type(position) ~= "number" or position < 1 or position > count + 1 then
    error("table.insert: expected (list, value) or (list, position within the list, value)", 2)
  end
  whole("table.insert", position)
  for i = count, position, -1 do list[i + 1] = list[i] end
  list[position] = value
end

function library.table.remove(list, position)
  check("table.remove", list)
  local count = #list
  if position == nil then position = count end
  if count == 0 and (position == 0 or position == 1) then return nil end
  if type(position) ~= "number" or position < 1 or position > count + 1 then
    error("table.remove: position is outside the list", 2)
  end
  whole("table.remove", position)
  local removed = list[position]
  for i = position, count do list[i] = list[i + 1] end
  return removed
end
)lua";

}  // namespace

void add_ordered_library(lua_State* lua) {
  if (luaL_loadbufferx(lua, kText, std::strlen(kText), "=library", "t") != LUA_OK) lua_error(lua);
  lua_insert(lua, -2);     // library, chunk, next
  lua_pushvalue(lua, -3);  // library, chunk, next, library
  lua_insert(lua, -2);     // library, chunk, library, next
  lua_call(lua, 2, 0);
}

}  // namespace gearshift

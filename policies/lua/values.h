// Gives a script the controller's values (goal, knobs, modes, answers) and takes its settings.
// Every function may raise a Lua error, so callers hold only trivially destructible values.
#pragma once

#include "controller/observation.h"
#include "policies/lua/setting_fields.h"

struct lua_State;

namespace gearshift {

// Adds the globals goal, knobs, modes, batch_sizes, dimensions, workload, observations, prior,
// script, safe and seed to the table on top of the stack. `modes`, `observations` and `prior` are
// read-only handles to what C++ owns.
void add_values(lua_State* lua);

// Pushes an answer: a new table with every field of docs/policies.md. Where it is not ok, times,
// power, energy and value are math.huge, so that naive comparisons reject it.
void push_answer(lua_State* lua, const Observation& answer);

// Pushes a setting: a new table with one field a knob, the batch sizes and `run`.
void push_setting(lua_State* lua, const Setting& setting);

// Copies the fields of the table at `index`; anything else raises an error that begins with `what`.
void copy_fields(lua_State* lua, int index, const char* what, SettingFields& fields);

}  // namespace gearshift

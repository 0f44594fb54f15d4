// Surfaces for scripts: handles to what is predicted of every setting, owned by C++. Every function
// may raise a Lua error, so callers hold only trivially destructible values.
#pragma once

#include "policies/numerics/setting_grid.h"
#include "policies/numerics/surface.h"

struct lua_State;

namespace gearshift {

// Makes the kind of handle known to the state, with its methods. Adds no global: the modules that
// predict make surfaces.
void add_surfaces(lua_State* lua);

// Every setting that the script may choose. An error where no workload is attached.
const SettingGrid& checked_grid(lua_State* lua);

// Pushes the handle of a new surface over checked_grid, all 0. Takes the instructions that filling
// it is worth from the budget. An error where the script holds kMostSurfaces that are still in use.
Surface& push_surface(lua_State* lua);

// The surface of the handle at `index`; else an error that begins with `what`.
Surface& checked_surface(lua_State* lua, int index, const char* what);

// Pushes a table with minibatch_ms, power_w, time_deviation, power_deviation and value.
void push_prediction(lua_State* lua, const RooflinePrediction& prediction, double batch_size);

// Pushes the setting of that number and its prediction: two values.
int push_numbered(lua_State* lua, const Surface& surface, std::size_t number);

// What the table at `index` says about a choice: power_w (goal.power_w by default), deviations and
// time_deviations (0); all defaults where there is no table.
SurfaceChoice checked_choice(lua_State* lua, int index, const char* what);

// Reads the setting at `index`; else an error that begins with `what`.
Setting checked_setting(lua_State* lua, int index, const char* what);

}  // namespace gearshift

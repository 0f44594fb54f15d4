// The Lua table gp: Bayesian optimisation over every setting, for scripts that decide when to ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "boards/board_model.h"
#include "controller/policy.h"
#include "policies/numerics/cost_process.h"
#include "policies/numerics/setting_grid.h"
#include "policies/numerics/smooth_values.h"

struct lua_State;

namespace gearshift {

// What gp knows in one run of a script: made at its first use, gone with the script's state. It
// lies outside the memory of Lua; kMostGpSettings bounds it.
inline constexpr std::size_t kMostGpSettings = 32'768;
struct GpSearch {
  // `context` has a workload.
  GpSearch(const PolicyContext& context, const BoardModel* board);

  SettingGrid grid;
  CostProcess process;
  SmoothValues smooth;
  std::vector<std::uint8_t> known;  // one a setting: 1 where it was learnt
  bool conditioned = true;          // nothing was learnt since
  // Sums over the answers with a power: of their noise margins relative to it, and their number.
  double margins = 0;
  std::size_t margin_count = 0;
};

// Adds the table to the one on top of the stack.
void add_gp(lua_State* lua);

}  // namespace gearshift

#include "policies/lua/roofline_library.h"

#include <cmath>
#include <lua.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "boards/model_fit.h"
#include "policies/lua/answer_fields.h"
#include "policies/lua/script_state.h"
#include "policies/lua/surface_library.h"
#include "policies/lua/terms.h"
#include "policies/lua/values.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/goal_judge.h"
#include "policies/numerics/roofline.h"

namespace gearshift {
namespace {

constexpr const char* kModelHandle = "roofline model";
// Instructions of the budget, at 5 to 10 ns each.
constexpr std::int64_t kFitCharge = 30'000;
constexpr std::int64_t kFitRowCharge = 13'000;
constexpr std::int64_t kFitManyRowsCharge = 6'000;  // a row
constexpr std::int64_t kFieldCharge = 20;
constexpr std::size_t kPriorRows = 48;  // of all tables measured before: more say little more
constexpr std::size_t kMostPriors = 3;

// What a fit is given, copied: nothing of Lua is touched while it is worked on.
struct Rows {
  std::array<RooflineRow, kMostRooflineRows> rows;
  std::size_t count = 0;

  std::span<const RooflineRow> all() const { return {rows.data(), count}; }
  // Of a longer list every so many-th row counts.
  bool takes(std::size_t i, std::size_t length) const {
    const std::size_t stride = (length + rows.size() - 1) / rows.size();
    return stride <= 1 || i % stride == 0;
  }
  void add(const RooflineRow& row) {
    if (count < rows.size()) rows[count++] = row;
  }
};

const BoardModel& checked_board(lua_State* lua) {
  const BoardModel* board = state_of(lua).board;
  if (board == nullptr) {
    luaL_error(lua, "roofline: no model of this board is known; test `roofline.known` first");
    __builtin_unreachable();  // it does not return
  }
  return *board;
}

const DeviceParameters& parameters(lua_State* lua) {
  return checked_board(lua).parameters[index(checked_grid(lua).kind())];
}

bool usable(double number) { return std::isfinite(number) && number > 0; }

// Fewer minibatches of what was cut short for late requests say little: the first began in another
// mode.
constexpr double kFewestLate = 8;

// Of what was cut short for late requests, after these minibatches of this mean: its time, or what
// it takes more than, alone. 0 where neither is known.
void set_late_time(double minibatches, double minibatch_ms, double slower_than_ms,
                   RooflineRow& row) {
  row.slower = minibatches < kFewestLate;
  row.minibatch_ms = row.slower ? slower_than_ms : minibatch_ms;
}

// A measured row, one that the guard cut, which drew more than its cap, or one whose requests were
// late: of it the time alone is known, or that it takes more.
std::optional<RooflineRow> row_of(const SettingGrid& grid, const Observation& answer,
                                  const Goal& goal) {
  const Kind kind = grid.kind();
  if (!runs(answer.setting.run, kind)) return std::nullopt;
  RooflineRow row{.mode = grid.mode(answer.setting),
                  .batch_size = static_cast<double>(answer.setting.batch_size[index(kind)])};
  if (answer.outcome == Outcome::over_limit && answer.limit_mw > 0) {
    row.power_w = static_cast<double>(answer.limit_mw) / 1e3;
    return row;
  }
  const Cost& cost = answer.cost[index(kind)];
  const double minibatch_ms = static_cast<double>(cost.minibatch_mean.count()) / 1e6;
  if (kind == Kind::infer && answer.outcome == Outcome::late) {
    set_late_time(cost.minibatches, minibatch_ms, slower_than_ms(answer, goal), row);
    return usable(row.minibatch_ms) ? std::optional(row) : std::nullopt;
  }
  if (!answer.ok() || cost.minibatches == 0) return std::nullopt;
  row.minibatch_ms = minibatch_ms;
  row.power_w = static_cast<double>(answer.power_mean_mw) / 1e3;
  if (!usable(row.minibatch_ms) || !usable(row.power_w)) return std::nullopt;
  return row;
}

// All that is known: what was measured before this run of the script, and in it.
void take_known(const ScriptState& state, Rows& rows) noexcept {
  const std::span<const Observation> before = state.context.observations;
  const std::size_t length = before.size() + state.answers.size();
  for (std::size_t i = 0; i < length; ++i) {
    if (!rows.takes(i, length)) continue;
    const Observation& answer = i < before.size() ? before[i] : state.answers[i - before.size()];
    if (const auto row = row_of(*state.grid, answer, state.context.goal)) rows.add(*row);
  }
}

// The same of the late answer that the table at `answer` is.
void take_late_time(lua_State* lua, int answer, const char* what, RooflineRow& row) {
  double minibatches = 0, minibatch_ms = 0;
  if (lua_getfield(lua, answer, kind_name(Kind::infer).data()) == LUA_TTABLE) {
    const int part = lua_gettop(lua);
    minibatches = optional_number(lua, part, what, "count");
    if (minibatches >= kFewestLate) minibatch_ms = needed_number(lua, part, what, "minibatch_ms");
  }
  lua_pop(lua, 1);
  if (!(minibatches >= kFewestLate)) minibatches = 0;  // NaN: it does not tell
  const double slower = optional_number(lua, answer, what, "slower_than_ms");
  set_late_time(minibatches, minibatch_ms, slower, row);
}

// The answer on top of the stack, popped; `number` counts from 1.
void take_answer(lua_State* lua, std::size_t number, Rows& rows) {
  const int answer = lua_gettop(lua);
  const char* what = lua_pushfstring(lua, "roofline.fit: answer %d", static_cast<int>(number));
  if (lua_type(lua, answer) != LUA_TTABLE) {
    luaL_error(lua, "%s: expected an answer of measure, got %s", what, luaL_typename(lua, answer));
  }
  lua_getfield(lua, answer, "setting");
  const char* of_setting = lua_pushfstring(lua, "%s: setting", what);
  const Setting setting = checked_setting(lua, answer + 2, of_setting);
  const SettingGrid& grid = checked_grid(lua);
  RooflineRow row{.mode = grid.mode(setting),
                  .batch_size = static_cast<double>(setting.batch_size[index(grid.kind())])};
  const std::optional<Outcome> reason = answer_reason(lua, answer, what);
  const bool over = reason == Outcome::over_limit;
  const bool late = reason == Outcome::late;
  if (!over && !late) row.minibatch_ms = needed_number(lua, answer, what, "minibatch_ms");
  if (late && grid.kind() == Kind::infer) take_late_time(lua, answer, what, row);
  if (!late) row.power_w = needed_number(lua, answer, what, over ? "limit_w" : "power_w");
  lua_settop(lua, answer - 1);
  if (!runs(setting.run, grid.kind())) return;
  if (late && usable(row.minibatch_ms)) rows.add(row);
  if (usable(row.power_w) && (over || usable(row.minibatch_ms))) rows.add(row);
}

void take_answers(lua_State* lua, int index, Rows& rows) {
  if (lua_isnoneornil(lua, index)) return take_known(state_of(lua), rows);
  if (lua_type(lua, index) != LUA_TTABLE) {
    luaL_error(lua,
               "roofline.fit: expected a list of answers, or nil for all that are known, got %s",
               luaL_typename(lua, index));
  }
  const std::size_t length = checked_list(lua, index, "roofline.fit", "answers");
  for (std::size_t i = 0; i < length; ++i) {
    if (!rows.takes(i, length)) continue;
    charge(lua, 100);
    lua_rawgeti(lua, index, static_cast<lua_Integer>(i + 1));
    take_answer(lua, i + 1, rows);
  }
}

RooflineEstimate* new_model(lua_State* lua) {
  auto* model = static_cast<RooflineEstimate*>(lua_newuserdatauv(lua, sizeof(RooflineEstimate), 0));
  *model = {};
  luaL_setmetatable(lua, kModelHandle);
  return model;
}

const RooflineEstimate& checked_model(lua_State* lua, int index, const char* what) {
  const auto* model =
      static_cast<const RooflineEstimate*>(luaL_testudata(lua, index, kModelHandle));
  if (model == nullptr) {
    luaL_error(lua, "%s: expected a model of roofline.fit, got %s", what,
               luaL_typename(lua, index));
    __builtin_unreachable();  // it does not return
  }
  return *model;
}

void charge_fit(lua_State* lua, std::size_t rows) {
  const std::int64_t a_row = rows > kManyRooflineRows ? kFitManyRowsCharge : kFitRowCharge;
  charge(lua, kFitCharge + a_row * static_cast<std::int64_t>(rows));
}

WorkloadShape shape_of(lua_State* lua) { return {.kind = checked_grid(lua).kind()}; }

// roofline.fit(answers, expected)
int fit(lua_State* lua) {
  const DeviceParameters& device = parameters(lua);
  const RooflineEstimate* expected =
      lua_isnoneornil(lua, 2) ? nullptr : &checked_model(lua, 2, "roofline.fit");
  Rows rows;
  take_answers(lua, 1, rows);
  charge_fit(lua, rows.count);
  RooflineEstimate* model = new_model(lua);
  *model = fit_roofline(device, rows.all(), shape_of(lua), expected);
  return 1;
}

// The tables of the kind that were measured on boards with a model, at most kMostPriors.
struct Prior {
  const Profile* profile = nullptr;
  DeviceParameters device;
  ModelMode highest;
};

std::size_t find_priors(const ScriptState& state, Kind kind,
                        std::array<Prior, kMostPriors>& priors) noexcept {
  std::size_t count = 0;
  for (const Profile* profile : state.context.prior) {
    if (profile->kind != kind || count == priors.size()) continue;
    std::optional<BoardModel> board;
    if (state.board != nullptr && state.board->is_called(profile->device)) {
      board = *state.board;
    } else {
      board = built_in_board_model(profile->device);
    }
    if (board) priors[count++] = {profile, board->parameters[index(kind)], board->highest};
  }
  return count;
}

RooflineEstimate fit_prior(const Prior& prior, std::size_t count,
                           const WorkloadShape& shape) noexcept {
  std::vector<FitCell> cells;
  for (const std::size_t row : prior_rows(prior.profile->cells().size())) {
    const ProfileCell& cell = prior.profile->cells()[row];
    if (!cell.timed() || !usable(cell.minibatch_ms) || !usable(cell.power_w)) continue;
    const ModelMode mode = model_mode(prior.profile->knobs(), cell.mode, prior.highest);
    if (!(mode.cpu_cores > 0 && mode.cpu_ghz > 0 && mode.gpu_ghz > 0 && mode.mem_ghz > 0)) continue;
    cells.push_back({mode, static_cast<double>(cell.batch_size), cell.minibatch_ms, cell.power_w});
  }
  Rows rows;
  for (const std::size_t i : spread_cells(cells, count, 1)) {
    rows.add({cells[i].mode, cells[i].batch_size, cells[i].minibatch_ms, cells[i].power_w});
  }
  return fit_roofline(prior.device, rows.all(), shape, nullptr);
}

// roofline.prior(): nil where no table of `prior` is of this kind and of a board with a model.
int prior(lua_State* lua) {
  checked_board(lua);
  const WorkloadShape shape = shape_of(lua);
  std::array<Prior, kMostPriors> priors;
  const std::size_t count = find_priors(state_of(lua), shape.kind, priors);
  if (count == 0) {
    lua_pushnil(lua);
    return 1;
  }
  RooflineEstimate* model = new_model(lua);
  std::array<double, kMostDemandParameters> sum{};
  for (std::size_t i = 0; i < count; ++i) {
    charge_fit(lua, kPriorRows / count);
    *model = fit_prior(priors[i], kPriorRows / count, shape);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += model->logs[k];
  }
  for (std::size_t k = 0; k < sum.size(); ++k) {
    model->logs[k] = sum[k] / static_cast<double>(count);
  }
  return 1;
}

int predict(lua_State* lua) {
  const RooflineEstimate& model = checked_model(lua, 1, "roofline.predict");
  const Setting setting = checked_setting(lua, 2, "roofline.predict");
  const SettingGrid& grid = checked_grid(lua);
  const double batch_size = setting.batch_size[index(grid.kind())];
  charge(lua, 200);
  const RooflinePredictor predictor(parameters(lua), model, batch_size);
  push_prediction(lua, predictor.predict(grid.mode(setting)), batch_size);
  return 1;
}

void fill(Surface& surface, const DeviceParameters& device, const RooflineEstimate& model,
          const SettingGrid& grid) noexcept {
  surface = roofline_surface(device, model, grid);
}

int surface(lua_State* lua) {
  const RooflineEstimate& model = checked_model(lua, 1, "roofline.surface");
  const DeviceParameters& device = parameters(lua);
  fill(push_surface(lua), device, model, checked_grid(lua));
  return 1;
}

struct ModelNumbers {
  Demand base;
  Demand slope;
};

ModelNumbers numbers_of(const RooflineEstimate& model) noexcept {
  const WorkloadParameters workload = model.workload();
  return {workload.base, workload.slope};
}

// Reads a field of a model: nil for a name it does not have.
int model_field(lua_State* lua) {
  const RooflineEstimate& model = checked_model(lua, 1, "a model");
  charge(lua, kFieldCharge);
  const ModelNumbers numbers = numbers_of(model);
  const bool trains = model.shape.kind == Kind::train;
  const Demand& whole = trains ? numbers.base : numbers.slope;
  const struct {
    const char* name;
    double value;
    bool is_count = false;
  } fields[] = {{"A", whole.A},
                {"B", whole.B},
                {"L", whole.L},
                {"P", whole.P},
                {"O", whole.O},
                {"kg", numbers.base.kg},
                {"power_scale", model.power_scale()},
                {"rows", static_cast<double>(model.rows), true},
                {"doubted", static_cast<double>(model.doubted), true},
                {"time_error", model.time_error},
                {"power_error", model.power_error},
                {"time_noise", model.time_noise},
                {"power_noise", model.power_noise}};
  const char* name = lua_type(lua, 2) == LUA_TSTRING ? lua_tostring(lua, 2) : "";
  for (const auto& field : fields) {
    if (std::string_view(field.name) != name) continue;
    if (field.is_count) {
      lua_pushinteger(lua, static_cast<lua_Integer>(field.value));
    } else {
      lua_pushnumber(lua, field.value);
    }
    return 1;
  }
  return 0;
}

constexpr luaL_Reg kFunctions[] = {
    {"fit", fit}, {"predict", predict}, {"prior", prior}, {"surface", surface}, {nullptr, nullptr}};

}  // namespace

void add_roofline(lua_State* lua) {
  luaL_newmetatable(lua, kModelHandle);
  lua_pushcfunction(lua, model_field);
  lua_setfield(lua, -2, "__index");
  lua_pop(lua, 1);
  lua_createtable(lua, 0, 5);
  luaL_setfuncs(lua, kFunctions, 0);
  lua_pushboolean(lua, state_of(lua).board != nullptr);
  lua_setfield(lua, -2, "known");
  lua_setfield(lua, -2, "roofline");
}

}  // namespace gearshift

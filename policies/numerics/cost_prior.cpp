#include "policies/numerics/cost_prior.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "boards/model_fit.h"
#include "policies/numerics/elementary.h"

namespace gearshift {
namespace {

// The best measured of the boards that have a model.
constexpr std::string_view kStandInBoard = "jetson-agx-orin";

// Over how much of the logarithm of a knob's values costs are alike: the residuals of the cost
// model on measured grids change within a step of the memory clock, and over several of the others.
struct KnobLength {
  std::string_view knob;
  double length;
};
constexpr KnobLength kLengths[] = {
    {"cpu_cores", 0.8}, {"cpu_mhz", 0.8}, {"gpu_mhz", 0.6}, {"mem_mhz", 0.4}};
constexpr double kBatchLength = 1;
constexpr double kOtherLength = 0.6;
constexpr std::string_view kPowerLimit = "power_limit_w";
constexpr std::string_view kQuota = "cpu_quota_percent";
constexpr double kHeldDown = 0.95;  // of a limit: what draws more is held down by it

// A demand that the prior lacks may still be there in another workload: in the middle mode each
// takes at least this share of the time.
constexpr double kLeastShare = 0.03;
constexpr double kLeastKg = 2;
constexpr double kLeastLoad = 2;  // ms*GHz of loading a sample

// A table whose power is less off than this is on the board model's scale.
constexpr double kLeastScale = 0.1;
// What the model leaves of a cell's power, relative; how far all power may be from what it says, as
// a share, and what a workload draws of a busy GPU from the fit of it.
constexpr double kCellDeviation = 0.04, kTableScaleDeviation = 0.5, kTableKgDeviation = 10;

const BoardModel& stand_in() {
  static const BoardModel model = *built_in_board_model(kStandInBoard);
  return model;
}

// Demands of a workload that uses everything a bit, of 100 ms or so.
WorkloadParameters neutral_workload(Kind kind, double batch_size) {
  WorkloadParameters workload;
  workload.kind = kind;
  workload.reference_batch = kind == Kind::train ? batch_size : 1;
  workload.a0 = 0.3 * batch_size;
  workload.base = {.A = 20, .B = 40, .L = 20, .P = 50, .O = 3, .workers = 4, .kg = 10};
  if (kind == Kind::train) return workload;
  workload.base = {.A = 1, .B = 2, .L = 20, .P = 1, .O = 5, .workers = 4, .kg = 10};
  workload.slope = {.A = 2, .B = 5, .L = 0.5, .P = 5, .O = 0.3};
  return workload;
}

void keep_every_demand(WorkloadParameters& workload, const DeviceParameters& device,
                       const SettingGrid& grid, const ModelMode& middle) {
  const auto raise = [&](Demand& demand, double time_ms) {
    demand.A = std::max(demand.A, kLeastShare * time_ms * middle.gpu_ghz);
    demand.B = std::max(demand.B, kLeastShare * time_ms * middle.mem_ghz);
    demand.L = std::max(demand.L, kLeastShare * time_ms * middle.cpu_ghz);
    demand.P = std::max(demand.P, kLeastShare * time_ms * middle.cpu_ghz * 4);
    demand.O = std::max(demand.O, kLeastShare / 2 * time_ms * middle.cpu_ghz);
  };
  const double batch_size = static_cast<double>(grid.batch_sizes().front());
  const double time_ms = minibatch_cost(device, workload.demand(batch_size), middle).minibatch_ms;
  workload.base.kg = std::max(workload.base.kg, kLeastKg);
  const bool infer = workload.kind == Kind::infer;
  if (!infer || grid.batch_sizes().size() > 1) raise(workload.base, time_ms);
  if (infer) raise(workload.slope, time_ms / (3 * batch_size));
  if (infer && grid.batch_sizes().size() > 1) {
    workload.slope.S = std::max(workload.slope.S, kLeastLoad);
  }
}

// Null where nothing can be learnt from the table.
const BoardModel* model_of(const Profile& profile, const BoardModel* board,
                           std::optional<BoardModel>& other) {
  if (board == nullptr) return &stand_in();
  if (board->is_called(profile.device)) return board;
  other = built_in_board_model(profile.device);
  return other ? &*other : nullptr;
}

double share_of(double value, double highest, double of) {
  return highest > 0 ? value * of / highest : of;
}

// A mode of a table, in clocks that the model knows.
ModelMode table_mode(const Profile& profile, const PowerMode& mode, const BoardModel& model,
                     bool own) {
  const ModelMode clocks = model_mode(profile.knobs(), mode, model.highest);
  if (own) return clocks;
  const ModelMode most = model_mode(profile.knobs(), profile.knobs().highest(), model.highest);
  const ModelMode& to = model.highest;
  return {share_of(clocks.cpu_cores, most.cpu_cores, to.cpu_cores),
          share_of(clocks.cpu_ghz, most.cpu_ghz, to.cpu_ghz),
          share_of(clocks.gpu_ghz, most.gpu_ghz, to.gpu_ghz),
          share_of(clocks.mem_ghz, most.mem_ghz, to.mem_ghz)};
}

// Whether a power limit kept the cell from drawing more: then it says little of demands.
bool held_down(const Profile& profile, const ProfileCell& cell) {
  const auto limit = profile.knobs().find(kPowerLimit);
  if (!limit) return false;
  const double scale = unit_scale(profile.knobs().knobs[*limit].unit);
  const double limit_w = static_cast<double>(cell.mode.values[*limit]) / scale;
  return cell.power_w > kHeldDown * limit_w;
}

std::vector<FitCell> table_cells(const Profile& profile, const BoardModel& model, bool own) {
  std::vector<FitCell> cells;
  for (const std::size_t row : prior_rows(profile.cells().size())) {
    const ProfileCell& cell = profile.cells()[row];
    if (!cell.timed() || !(cell.minibatch_ms > 0) || !(cell.power_w > 0)) continue;
    const ModelMode mode = table_mode(profile, cell.mode, model, own);
    if (!(mode.cpu_cores > 0 && mode.cpu_ghz > 0 && mode.gpu_ghz > 0 && mode.mem_ghz > 0)) continue;
    if (held_down(profile, cell)) continue;
    cells.push_back({mode, static_cast<double>(cell.batch_size), cell.minibatch_ms, cell.power_w});
  }
  return cells;
}

bool same_knobs(const KnobSpace& one, const KnobSpace& other) {
  return std::equal(one.knobs.begin(), one.knobs.end(), other.knobs.begin(), other.knobs.end(),
                    [](const Knob& a, const Knob& b) { return a.name == b.name; });
}

// How much more the table's workload cost in each setting of the grid than its own fit says.
void fill_misfit(const Profile& profile, const BoardModel& model, bool own, const SettingGrid& grid,
                 CostPrior& prior) {
  prior.settings.assign(grid.size(), {});
  const DeviceParameters& device = model.parameters[index(profile.kind)];
  const double scale = std::exp(prior.log_power_scale);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Setting setting = grid.setting(i);
    const ProfileCell* cell = profile.find(setting.mode, setting.batch_size[index(profile.kind)]);
    if (cell == nullptr || !cell->timed() || !(cell->minibatch_ms > 0) || !(cell->power_w > 0)) {
      continue;
    }
    const MinibatchCost cost = minibatch_cost(device, prior.workload.demand(cell->batch_size),
                                              table_mode(profile, cell->mode, model, own));
    const auto misfit = [](double measured, double modelled) {
      return static_cast<float>(std::log(measured / modelled));
    };
    prior.settings[i] = {.time_misfit = misfit(cell->minibatch_ms, cost.minibatch_ms),
                         .power_misfit = misfit(cell->power_w, scale * cost.power_w),
                         .known = true};
  }
}

// Takes the powers of a board without a model to the stand-in's scale.
void take_power_scale(const BoardModel& model, std::vector<FitCell>& cells, CostPrior& prior) {
  double sum = 0;
  for (const FitCell& cell : cells) {
    const MinibatchCost cost = minibatch_cost(model.parameters[index(prior.workload.kind)],
                                              prior.workload.demand(cell.batch_size), cell.mode);
    sum += std::log(cell.power_w / cost.power_w);
  }
  prior.log_power_scale = sum / static_cast<double>(cells.size());
  for (FitCell& cell : cells) cell.power_w /= std::exp(prior.log_power_scale);
}

// By what factor the cells draw more than the model, as the logarithm: of that of all power and of
// kg, the most likely by the relative residuals (ridge regression). Cells of one mode hardly tell
// the two apart, and then say 1. 0 where it is hardly another.
double power_scale(const DeviceParameters& device, const WorkloadParameters& workload,
                   std::span<const FitCell> cells) {
  Eigen::MatrixX2d slopes(static_cast<Eigen::Index>(cells.size()), 2);
  Eigen::VectorXd off(slopes.rows());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const FitCell& cell = cells[i];
    const auto share = [&](double kg) {
      WorkloadParameters one = workload;
      one.base.kg = kg;
      return minibatch_cost(device, one.demand(cell.batch_size), cell.mode).power_w / cell.power_w;
    };
    const auto row = static_cast<Eigen::Index>(i);
    slopes(row, 0) = share(0);
    slopes(row, 1) = share(1) - share(0);  // power is linear in kg
    off[row] = 1 - share(workload.base.kg);
  }
  Eigen::Matrix2d normal = slopes.transpose() * slopes;
  normal(0, 0) += square(kCellDeviation / kTableScaleDeviation);
  normal(1, 1) += square(kCellDeviation / kTableKgDeviation);
  const Eigen::Vector2d moved = normal.ldlt().solve(slopes.transpose() * off);
  const double log = moved[0] > -1 ? std::log1p(moved[0]) : 0.0;
  return std::abs(log) > kLeastScale ? log : 0.0;
}

bool of_workload(const Profile& profile, const PolicyContext& context) {
  const Workload* workload = context.workloads[index(profile.kind)];
  return workload != nullptr && profile.workload == workload->name.view();
}

// False where the table is of no use.
bool take_table(const Profile& profile, const PolicyContext& context, const BoardModel* board,
                const SettingGrid& grid, CostPrior& prior) {
  std::optional<BoardModel> other;
  const BoardModel* model = model_of(profile, board, other);
  if (model == nullptr || profile.kind != grid.kind()) return false;
  std::vector<FitCell> cells = table_cells(profile, *model, board != nullptr);
  if (cells.size() < kLeastFitCells) return false;
  if (board == nullptr) take_power_scale(*model, cells, prior);
  std::vector<FitCell> some;
  for (const std::size_t i : spread_cells(cells, kPriorCells, 1)) some.push_back(cells[i]);
  const DeviceParameters& device = model->parameters[index(profile.kind)];
  const WorkloadParameters neutral = prior.workload;
  prior.workload = fit_workload(device, some, neutral).workload;
  const double scale = board != nullptr ? power_scale(device, prior.workload, some) : 0;
  if (scale != 0) {
    for (FitCell& cell : some) cell.power_w /= std::exp(scale);
    prior.workload = fit_workload(device, some, neutral).workload;
    if (model == board) prior.log_power_scale = scale;
  }
  prior.known = true;
  const bool this_board = board == nullptr || model == board;
  if (this_board && same_knobs(profile.knobs(), *context.knobs)) {
    prior.same = of_workload(profile, context);
    if (!prior.same) fill_misfit(profile, *model, board != nullptr, grid, prior);
  }
  return true;
}

}  // namespace

std::vector<std::size_t> prior_rows(std::size_t rows) {
  std::vector<std::size_t> taken(std::min(rows, kMostPriorRows));
  std::mt19937_64 engine(1);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const std::size_t first = i * rows / taken.size();
    const std::size_t next = (i + 1) * rows / taken.size();
    taken[i] = first + engine() % (next - first);
  }
  return taken;
}

std::size_t prior_cell_count(const Profile& profile, const BoardModel* board) {
  std::optional<BoardModel> other;
  const BoardModel* model = model_of(profile, board, other);
  return model == nullptr ? 0 : table_cells(profile, *model, board != nullptr).size();
}

ModelMode highest_mode(const BoardModel* board) {
  return board != nullptr ? board->highest : stand_in().highest;
}

CostCentre cost_centre(const PolicyContext& context, const BoardModel* board,
                       const SettingGrid& grid) {
  CostCentre centre;
  centre.own = board != nullptr;
  centre.device = (board != nullptr ? *board : stand_in()).parameters[index(grid.kind())];
  if (board == nullptr) {
    const ModelMode& to = stand_in().highest;
    const ModelMode most = grid.mode(grid.size() - 1);
    centre.stretch = {share_of(1, most.cpu_cores, to.cpu_cores),
                      share_of(1, most.cpu_ghz, to.cpu_ghz), share_of(1, most.gpu_ghz, to.gpu_ghz),
                      share_of(1, most.mem_ghz, to.mem_ghz)};
  }
  for (std::size_t d = 0; d + 1 < grid.dimensions(); ++d) {
    const std::string& name = context.knobs->knobs[d].name;
    const auto* known = std::find_if(std::begin(kLengths), std::end(kLengths),
                                     [&](const KnobLength& one) { return one.knob == name; });
    if (known == std::end(kLengths)) centre.unknown.push_back(d);
    if (name == kPowerLimit) {
      const double scale = unit_scale(context.knobs->knobs[d].unit);
      const auto highest = static_cast<double>(grid.values(d).back());
      centre.power_limit = {d, std::log(std::max(highest, 1.0) / scale)};
    }
    if (name == kQuota) {
      const auto cores = context.knobs->find("cpu_cores");
      if (cores) centre.quota = {d, *cores};
    }
    centre.lengths.push_back(known == std::end(kLengths) ? kOtherLength : known->length);
  }
  centre.lengths.push_back(kBatchLength);
  return centre;
}

CostPrior cost_prior(const PolicyContext& context, const BoardModel* board,
                     const SettingGrid& grid) {
  const double batch_size = static_cast<double>(grid.batch_sizes().front());
  CostPrior prior;
  prior.workload = neutral_workload(grid.kind(), batch_size);
  // This board's tables first, and of these the workload's own.
  const auto rank = [&](const Profile* profile) {
    if (board != nullptr && !board->is_called(profile->device)) return 2;
    return of_workload(*profile, context) ? 0 : 1;
  };
  std::vector<const Profile*> tables(context.prior.begin(), context.prior.end());
  std::stable_sort(tables.begin(), tables.end(), [&](const Profile* one, const Profile* other) {
    return rank(one) < rank(other);
  });
  const auto taken = std::find_if(tables.begin(), tables.end(), [&](const Profile* profile) {
    return take_table(*profile, context, board, grid, prior);
  });
  const CostCentre centre = cost_centre(context, board, grid);
  ModelMode middle = grid.mode(grid.size() / 2);
  middle.cpu_cores *= centre.stretch.cpu_cores;
  middle.cpu_ghz *= centre.stretch.cpu_ghz;
  middle.gpu_ghz *= centre.stretch.gpu_ghz;
  middle.mem_ghz *= centre.stretch.mem_ghz;
  keep_every_demand(prior.workload, centre.device, grid, middle);
  // Requests that come one by one bring their samples with them: no loader is waited for.
  if (context.goal.one_by_one) prior.workload.slope.S = 0;
  if (prior.same) {  // of the demands as they are now
    fill_misfit(**taken, board != nullptr ? *board : stand_in(), board != nullptr, grid, prior);
  }
  return prior;
}

}  // namespace gearshift

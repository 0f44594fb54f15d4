#include "boards/model_fit.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>
#include <utility>

#include "boards/first_guesses.h"

namespace gearshift {
namespace {

using Vector = Eigen::VectorXd;

// A residual of less is noise; of more, perhaps a wrong reading.
constexpr double kNoise = 0.1;
// Pulls a parameter that no cell can tell back to its start, and hardly moves one that the cells
// tell: a factor of e costs as much as one residual of this size.
constexpr double kPull = 0.01;
constexpr double kMostLog = 16;  // parameters stay within e^-16 and e^16 ms*GHz
constexpr int kMostEvaluations = 400;

// The parameters that a fit may move, in a fixed order.
std::vector<double*> free_parameters(WorkloadParameters& workload, bool several_batches) {
  Demand& base = workload.base;
  Demand& slope = workload.slope;
  const auto of = [](Demand& demand) {
    return std::vector<double*>{&demand.A, &demand.B, &demand.L, &demand.P, &demand.O};
  };
  std::vector<double*> free;
  if (workload.kind == Kind::train) {
    free = of(base);
    if (several_batches) free.push_back(&workload.a0);
  } else {
    free = of(slope);
    if (several_batches) {
      const std::vector<double*> constant = of(base);
      free.insert(free.end(), constant.begin(), constant.end());
      free.push_back(&slope.S);
    }
  }
  free.push_back(&base.kg);
  return free;
}

// Quadratic within the noise, linear beyond it.
double softened(double residual) {
  const double ratio = residual / kNoise;
  const double size = std::numbers::sqrt2 * kNoise * std::sqrt(std::sqrt(1 + ratio * ratio) - 1);
  return std::copysign(size, residual);
}

// What Eigen's solver minimises: residuals of time and power, then the pull to the start.
struct Residuals {
  using Scalar = double;
  using InputType = Vector;
  using ValueType = Vector;
  using JacobianType = Eigen::MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  const DeviceParameters* device;
  std::span<const FitCell> cells;
  WorkloadParameters workload;
  bool several_batches;
  Vector start;

  int inputs() const { return static_cast<int>(start.size()); }
  int values() const { return static_cast<int>(2 * cells.size()) + inputs(); }

  WorkloadParameters at(const Vector& logs) const {
    WorkloadParameters moved = workload;
    const std::vector<double*> free = free_parameters(moved, several_batches);
    for (std::size_t i = 0; i < free.size(); ++i) {
      *free[i] = std::exp(std::clamp(logs[static_cast<Eigen::Index>(i)], -kMostLog, kMostLog));
    }
    return moved;
  }

  int operator()(const Vector& logs, Vector& residuals) const {
    const WorkloadParameters moved = at(logs);
    Eigen::Index at_index = 0;
    for (const FitCell& cell : cells) {
      const MinibatchCost cost = minibatch_cost(*device, moved.demand(cell.batch_size), cell.mode);
      residuals[at_index++] = softened(std::log(cost.minibatch_ms / cell.minibatch_ms));
      residuals[at_index++] = softened(std::log(cost.power_w / cell.power_w));
    }
    residuals.tail(logs.size()) = kPull * (logs - start);
    return 0;
  }
};

// A guess in which the resources share the median cell's time: `share` of A, B, L, P and O.
WorkloadParameters guess(const WorkloadParameters& start, std::span<const FitCell> cells,
                         bool several_batches, const std::array<double, 5>& share) {
  std::vector<const FitCell*> by_time;
  for (const FitCell& cell : cells) by_time.push_back(&cell);
  std::sort(by_time.begin(), by_time.end(), [](const FitCell* one, const FitCell* other) {
    return one->minibatch_ms < other->minibatch_ms;
  });
  const FitCell& middle = *by_time[by_time.size() / 2];
  WorkloadParameters guessed = start;
  const bool infer = start.kind == Kind::infer;
  // Of the reference batch in training; of a sample, and half of the batch as a constant, in
  // inference.
  const double batches = infer ? middle.batch_size * (several_batches ? 2 : 1)
                               : middle.batch_size / start.reference_batch;
  const double time_ms = middle.minibatch_ms;
  const auto fill = [&](Demand& demand, double scale) {
    demand.A = share[0] * time_ms * middle.mode.gpu_ghz * scale;
    demand.B = share[1] * time_ms * middle.mode.mem_ghz * scale;
    demand.L = share[2] * time_ms * middle.mode.cpu_ghz * scale;
    demand.P = share[3] * time_ms * middle.mode.cpu_ghz * scale *
               std::clamp(start.base.workers, 1.0, middle.mode.cpu_cores);
    demand.O = share[4] * time_ms * middle.mode.cpu_ghz * scale;
  };
  const double workers = start.base.workers;
  const double fetch_ms = start.base.fetch_ms;
  guessed.base = {};
  guessed.slope = {};
  guessed.slope.fetch_ms = start.slope.fetch_ms;
  fill(infer ? guessed.slope : guessed.base, 1 / batches);
  if (infer && several_batches) {
    fill(guessed.base, 0.5);
    guessed.slope.S = time_ms * middle.mode.cpu_ghz / batches;
  }
  guessed.base.workers = workers;
  guessed.base.fetch_ms = fetch_ms;
  guessed.base.kg = 10;
  if (!infer && several_batches && !(guessed.a0 > 0)) guessed.a0 = 4;
  return guessed;
}

Vector logs_of(WorkloadParameters workload, bool several_batches) {
  const std::vector<double*> free = free_parameters(workload, several_batches);
  Vector logs(static_cast<Eigen::Index>(free.size()));
  for (std::size_t i = 0; i < free.size(); ++i) {
    logs[static_cast<Eigen::Index>(i)] = std::log(*free[i]);
  }
  return logs;
}

void check(std::span<const FitCell> cells) {
  if (cells.size() < kLeastFitCells || cells.size() > kMostFitCells) {
    throw std::invalid_argument("a fit needs " + std::to_string(kLeastFitCells) + " to " +
                                std::to_string(kMostFitCells) + " cells, not " +
                                std::to_string(cells.size()));
  }
  for (const FitCell& cell : cells) {
    for (const double number :
         {cell.mode.cpu_cores, cell.mode.cpu_ghz, cell.mode.gpu_ghz, cell.mode.mem_ghz,
          cell.batch_size, cell.minibatch_ms, cell.power_w}) {
      if (number > 0 && std::isfinite(number)) continue;
      throw std::invalid_argument("a fit needs clocks, batch size, time and power above 0, not " +
                                  std::to_string(number));
    }
  }
}

FitError summary(std::vector<double> errors) {
  FitError error;
  if (errors.empty()) return error;
  std::sort(errors.begin(), errors.end());
  for (const double one : errors) error.mean += one;
  error.mean /= static_cast<double>(errors.size());
  const std::size_t half = errors.size() / 2;
  error.median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  // The nearest rank: the least error that nine tenths of all are no larger than.
  error.p90 = errors[(9 * errors.size() + 9) / 10 - 1];
  return error;
}

// How far apart two cells are: the sum of the squared logarithms of what differs.
double distance(const FitCell& one, const FitCell& other) {
  const auto squared_log = [](double a, double b) {
    const double log = std::log(a / b);
    return log * log;
  };
  return squared_log(one.mode.cpu_cores, other.mode.cpu_cores) +
         squared_log(one.mode.cpu_ghz, other.mode.cpu_ghz) +
         squared_log(one.mode.gpu_ghz, other.mode.gpu_ghz) +
         squared_log(one.mode.mem_ghz, other.mode.mem_ghz) +
         squared_log(one.batch_size, other.batch_size);
}

}  // namespace

std::vector<FitCell> fit_cells(const BoardDescription& board, const Profile& profile) {
  const KnobSpace space = board.knob_space();
  const ModelMode highest = model_mode(space, space.highest(), {});
  std::vector<FitCell> cells;
  for (const ProfileCell& cell : profile.cells()) {
    if (!cell.timed()) continue;
    cells.push_back({model_mode(profile.knobs(), cell.mode, highest),
                     static_cast<double>(cell.batch_size), cell.minibatch_ms, cell.power_w});
  }
  return cells;
}

ModelFit fit_workload(const DeviceParameters& device, std::span<const FitCell> cells,
                      const WorkloadParameters& start) {
  check(cells);
  const bool several_batches = std::any_of(cells.begin(), cells.end(), [&](const FitCell& cell) {
    return cell.batch_size != cells.front().batch_size;
  });
  ModelFit best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::array<double, 5>& share : kGuessedShares) {
    const WorkloadParameters guessed = guess(start, cells, several_batches, share);
    Residuals residuals{&device, cells, guessed, several_batches,
                        logs_of(guessed, several_batches)};
    Vector logs = residuals.start;
    Eigen::NumericalDiff<Residuals> derived(residuals);
    Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Residuals>> solver(derived);
    solver.parameters.maxfev = kMostEvaluations;
    solver.parameters.ftol = solver.parameters.xtol = 1e-6;
    solver.minimize(logs);
    Vector final_residuals(residuals.values());
    residuals(logs, final_residuals);
    // The pull depends on the guess: it is left out where guesses are compared.
    const double loss =
        final_residuals.head(static_cast<Eigen::Index>(2 * cells.size())).squaredNorm();
    if (loss < least) {
      least = loss;
      best.workload = residuals.at(logs);
    }
  }
  best.error = cost_error(device, best.workload, cells);
  return best;
}

CostError cost_error(const DeviceParameters& device, const WorkloadParameters& workload,
                     std::span<const FitCell> cells) {
  std::vector<double> time;
  std::vector<double> power;
  for (const FitCell& cell : cells) {
    const MinibatchCost cost = minibatch_cost(device, workload.demand(cell.batch_size), cell.mode);
    time.push_back(std::fabs(cost.minibatch_ms / cell.minibatch_ms - 1));
    power.push_back(std::fabs(cost.power_w / cell.power_w - 1));
  }
  return {cells.size(), summary(std::move(time)), summary(std::move(power))};
}

std::vector<std::size_t> spread_cells(std::span<const FitCell> cells, std::size_t count,
                                      std::uint64_t seed) {
  std::vector<std::size_t> taken;
  if (count >= cells.size()) {
    for (std::size_t i = 0; i < cells.size(); ++i) taken.push_back(i);
    return taken;
  }
  constexpr int kDrawn = 16;
  std::mt19937_64 engine(seed);
  const auto nearest = [&](std::size_t candidate) {
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t one : taken) {
      least = one == candidate ? -1 : std::min(least, distance(cells[one], cells[candidate]));
      if (least < 0) break;
    }
    return least;
  };
  while (taken.size() < count) {
    std::size_t best = 0;
    double farthest = -1;
    for (int drawn = 0; drawn < kDrawn; ++drawn) {
      const std::size_t candidate = engine() % cells.size();
      const double apart = nearest(candidate);
      if (apart > farthest) {
        farthest = apart;
        best = candidate;
      }
    }
    if (farthest >= 0) taken.push_back(best);
  }
  std::sort(taken.begin(), taken.end());
  return taken;
}

}  // namespace gearshift

#include "policies/numerics/roofline.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "boards/first_guesses.h"

namespace gearshift {
namespace {

constexpr int kMost = static_cast<int>(kMostDemandParameters);
using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMost, 1>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMost, kMost>;

// What a measurement is expected to be off by: noise, and what the formulas leave out.
constexpr double kTimeNoise = 0.04;
constexpr double kPowerNoise = 0.02;
constexpr double kSlowerNoise =
    0.1;  // of the time that requests which were late say it takes more than
constexpr double kSlowerTurn = 3;     // deviations: the loss grows no faster beyond them
constexpr double kFreedom = 3;        // of the Student-t distribution: less is more forgiving
constexpr double kScaleWidth = 0.02;  // of the scale of power
constexpr double kMostLog = 16;
constexpr int kMostSteps = 40;

// Where a parameter acts.
struct Layout {
  int count, a0, kg, scale;
  bool train;
  explicit Layout(Kind kind)
      : count(kind == Kind::train ? 8 : 12),
        a0(kind == Kind::train ? 5 : -1),
        kg(kind == Kind::train ? 6 : 10),
        scale(kind == Kind::train ? 7 : 11),
        train(kind == Kind::train) {}
};

void fill(WorkloadParameters& workload, const double* logs) {
  const Layout layout(workload.kind);
  const auto demands = [&](Demand& demand, int first) {
    demand.A = std::exp(logs[first]);
    demand.B = std::exp(logs[first + 1]);
    demand.L = std::exp(logs[first + 2]);
    demand.P = std::exp(logs[first + 3]);
    demand.O = std::exp(logs[first + 4]);
  };
  demands(layout.train ? workload.base : workload.slope, 0);
  if (layout.train) {
    workload.a0 = std::exp(logs[layout.a0]);
  } else {
    demands(workload.base, 5);
  }
  workload.base.kg = std::exp(logs[layout.kg]);
}

// By how much the logarithms of a batch size's demands change where those of the parameters do.
using Chain = Eigen::Matrix<double, kDemands, Eigen::Dynamic, 0, kDemands, kMost>;

Chain chain_of(const WorkloadParameters& workload, const Demand& demand, double batch_size) {
  const Layout layout(workload.kind);
  Chain chain = Chain::Zero(kDemands, layout.count);
  if (layout.train) {
    for (int i = 0; i < 5; ++i) chain(i, i) = 1;
    const double a0 = workload.a0;
    const double by_a0 = a0 / (batch_size + a0) - a0 / (workload.reference_batch + a0);
    chain(0, layout.a0) = chain(1, layout.a0) = by_a0;
  } else {
    const Demand& base = workload.base;
    const double constant[] = {base.A, base.B, base.L, base.P, base.O};
    const double whole[] = {demand.A, demand.B, demand.L, demand.P, demand.O};
    for (int i = 0; i < 5; ++i) {
      chain(i, 5 + i) = constant[i] / whole[i];
      chain(i, i) = 1 - chain(i, 5 + i);
    }
  }
  chain(5, layout.kg) = 1;
  return chain;
}

// Logarithms of time and power with their derivatives by the parameters.
struct Row {
  double time = 0;
  double power = 0;
  Vector time_by, power_by;
};

Row row_at(const DeviceParameters& device, const WorkloadParameters& workload, double log_scale,
           const ModelMode& mode, double batch_size) {
  const Layout layout(workload.kind);
  const Demand demand = workload.demand(batch_size);
  const LogCost cost = log_cost(device, demand, mode);
  const Chain chain = chain_of(workload, demand, batch_size);
  using Demands = Eigen::Matrix<double, kDemands, 1>;
  Row row;
  row.time = cost.time;
  row.power = cost.power + log_scale;
  row.time_by = chain.transpose() * Eigen::Map<const Demands>(cost.time_by.data());
  row.power_by = chain.transpose() * Eigen::Map<const Demands>(cost.power_by.data());
  row.power_by[layout.scale] += 1;
  return row;
}

// What is known of a workload before it is measured.
struct Expectation {
  Vector mean;
  Matrix precision;  // of all but the scale, whose distribution is another
};

Matrix precision_of(const Layout& layout, bool known) {
  // Standard deviations of the logarithms: a factor common to all demands, and one of each.
  const double common = known ? 1.2 : 3;
  const double own[] = {0.8, 0.8, 0.9, 1.4, 1.4};
  Matrix covariance = Matrix::Zero(layout.count, layout.count);
  const int demands = layout.train ? 5 : 10;
  for (int i = 0; i < demands; ++i) {
    for (int j = 0; j < demands; ++j) covariance(i, j) = common * common;
    const double one = own[i % 5] * (known ? 1 : 1.5);
    covariance(i, i) += one * one;
  }
  if (layout.train) covariance(layout.a0, layout.a0) = 1;
  covariance(layout.kg, layout.kg) = known ? 0.16 : 0.25;
  covariance(layout.scale, layout.scale) = 1;
  Matrix precision = covariance.inverse();
  precision(layout.scale, layout.scale) = 0;
  return precision;
}

// Demands in which the resources share a time: `share` of A, B, L, P and O.
Vector guess(const WorkloadShape& shape, const RooflineRow& middle,
             const std::array<double, 5>& share) {
  const Layout layout(shape.kind);
  const double time_ms = middle.minibatch_ms;
  const double workers = std::clamp(shape.workers, 1.0, middle.mode.cpu_cores);
  const double work[] = {time_ms * middle.mode.gpu_ghz, time_ms * middle.mode.mem_ghz,
                         time_ms * middle.mode.cpu_ghz, time_ms * middle.mode.cpu_ghz * workers,
                         time_ms * middle.mode.cpu_ghz};
  Vector logs = Vector::Zero(layout.count);
  for (int i = 0; i < 5; ++i) {
    const double whole = share[static_cast<std::size_t>(i)] * work[i];
    if (layout.train) {
      logs[i] = std::log(whole * shape.reference_batch / middle.batch_size);
    } else {
      // A launch is paid once a batch, all else grows with it: half of either as a beginning.
      logs[i] = std::log(whole / 2 / middle.batch_size);
      logs[5 + i] = std::log(whole / 2);
    }
  }
  if (layout.train) logs[layout.a0] = std::log(7.0);
  logs[layout.kg] = std::log(9.0);
  return logs;
}

RooflineRow middle_row(std::span<const RooflineRow> rows) {
  std::array<std::size_t, kMostRooflineRows> timed;
  std::size_t count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].minibatch_ms > 0 && rows[i].power_w > 0) timed[count++] = i;
  }
  if (count == 0) {
    return {.mode = {4, 1, 1, 1}, .batch_size = 16, .minibatch_ms = 100, .power_w = 10};
  }
  std::sort(timed.begin(), timed.begin() + static_cast<std::ptrdiff_t>(count),
            [&](std::size_t one, std::size_t other) {
              if (rows[one].minibatch_ms != rows[other].minibatch_ms) {
                return rows[one].minibatch_ms < rows[other].minibatch_ms;
              }
              return one < other;
            });
  return rows[timed[count / 2]];
}

class Fit {
 public:
  Fit(const DeviceParameters& device, std::span<const RooflineRow> rows, const WorkloadShape& shape,
      Expectation expected)
      : device_(device),
        rows_(rows),
        shape_(shape),
        layout_(shape.kind),
        expected_(std::move(expected)) {}

  struct State {
    Vector logs;
    double loss = std::numeric_limits<double>::infinity();
    Vector slope;
    Matrix curvature;
  };

  // The least loss that is found going down from `logs`.
  State descend(const Vector& logs) const {
    State best = at(logs);
    double damping = 1e-3;
    for (int step = 0; step < kMostSteps; ++step) {
      Matrix damped = best.curvature;
      damped.diagonal() *= 1 + damping;
      const Vector change = -damped.ldlt().solve(best.slope);
      if (!change.allFinite()) break;
      const Vector moved =
          (best.logs + change.cwiseMax(-2.0).cwiseMin(2.0)).cwiseMax(-kMostLog).cwiseMin(kMostLog);
      State next = at(moved);
      if (next.loss < best.loss) {
        const bool settled = best.loss - next.loss < 1e-6 * (1 + best.loss);
        best = std::move(next);
        damping = std::max(1e-9, damping * 0.2);
        if (settled) break;
      } else {
        damping *= 8;
        if (damping > 1e9) break;
      }
    }
    return best;
  }

  State at(const Vector& logs) const {
    RooflineEstimate moved;
    moved.shape = shape_;
    std::copy(logs.data(), logs.data() + logs.size(), moved.logs.begin());
    const WorkloadParameters workload = moved.workload();
    State state;
    state.logs = logs;
    const Vector away = logs - expected_.mean;
    state.slope = expected_.precision * away;
    state.loss = 0.5 * away.dot(state.slope);
    state.curvature = expected_.precision;
    add_scale(logs[layout_.scale], state);
    for (const RooflineRow& row : rows_) {
      add_row(row, row_at(device_, workload, logs[layout_.scale], row.mode, row.batch_size), state);
    }
    if (!std::isfinite(state.loss)) state.loss = std::numeric_limits<double>::infinity();
    return state;
  }

  // Squared deviations of a measured row from the estimate, in units of the noise.
  static std::array<double, 2> deviations(const RooflineRow& row, const Row& model) {
    const bool drew = row.power_w > 0;
    const double power = drew ? (model.power - std::log(row.power_w)) / kPowerNoise : 0;
    if (row.minibatch_ms <= 0) return {0, std::min(0.0, power)};
    const double time = (model.time - std::log(row.minibatch_ms)) / kTimeNoise;
    return {row.slower ? std::min(0.0, time) : time, power};
  }

 private:
  void add_scale(double log_scale, State& state) const {
    const double squared = kScaleWidth * kScaleWidth;
    state.loss += std::log1p(log_scale * log_scale / squared);
    const double weight = 2 / (squared + log_scale * log_scale);
    state.slope[layout_.scale] += weight * log_scale;
    state.curvature(layout_.scale, layout_.scale) += weight;
  }

  // Requests that were late are no reading that is off: what they say of the time weighs the more
  // the farther the estimate is from it (Huber's loss).
  void add_slower(const RooflineRow& row, const Row& model, State& state) const {
    const double time = std::min(0.0, model.time - std::log(row.minibatch_ms)) / kSlowerNoise;
    const double weight = std::min(1.0, kSlowerTurn / -time);
    const double turned = std::min(-time, kSlowerTurn);
    state.loss += turned * (-time - turned / 2);
    if (time == 0) return;
    const Vector by = model.time_by / kSlowerNoise;
    state.slope += weight * time * by;
    state.curvature += weight * by * by.transpose();
  }

  void add_row(const RooflineRow& row, const Row& model, State& state) const {
    if (row.slower) return add_slower(row, model, state);
    const auto [time, power] = deviations(row, model);
    const double squared = time * time + power * power;
    const double seen = row.minibatch_ms > 0 && row.power_w > 0 ? 2 : 1;
    state.loss += 0.5 * (kFreedom + seen) * std::log1p(squared / kFreedom);
    const double weight = (kFreedom + seen) / (kFreedom + squared);
    if (row.minibatch_ms > 0) {
      const Vector by = model.time_by / kTimeNoise;
      state.slope += weight * time * by;
      state.curvature += weight * by * by.transpose();
    }
    if (row.power_w > 0 && (row.minibatch_ms > 0 || power < 0)) {
      const Vector by = model.power_by / kPowerNoise;
      state.slope += weight * power * by;
      state.curvature += weight * by * by.transpose();
    }
  }

  const DeviceParameters& device_;
  std::span<const RooflineRow> rows_;
  WorkloadShape shape_;
  Layout layout_;
  Expectation expected_;
};

// Errors and noise of the rows. The noise starts from what is expected of it, worth `kPrior` rows.
void judge(const DeviceParameters& device, std::span<const RooflineRow> rows,
           RooflineEstimate& estimate) {
  constexpr double kPrior = 8;
  const WorkloadParameters workload = estimate.workload();
  const double log_scale = std::log(estimate.power_scale());
  double time = kPrior * kTimeNoise * kTimeNoise;
  double power = kPrior * kPowerNoise * kPowerNoise;
  double time_weights = kPrior, power_weights = kPrior;
  double timed = 0, drew = 0;
  for (const RooflineRow& row : rows) {
    const Row model = row_at(device, workload, log_scale, row.mode, row.batch_size);
    const auto [time_off, power_off] = Fit::deviations(row, model);
    const double squared = time_off * time_off + power_off * power_off;
    estimate.doubted += squared > 18 ? 1 : 0;
    if (row.minibatch_ms <= 0 || row.slower) continue;
    const double weight = std::min(1.0, (kFreedom + 2) / (kFreedom + squared));
    time += weight * std::pow(time_off * kTimeNoise, 2);
    time_weights += weight;
    timed += 1;
    estimate.time_error += std::fabs(std::exp(model.time) / row.minibatch_ms - 1);
    if (row.power_w <= 0) continue;
    power += weight * std::pow(power_off * kPowerNoise, 2);
    power_weights += weight;
    drew += 1;
    estimate.power_error += std::fabs(std::exp(model.power) / row.power_w - 1);
  }
  estimate.rows = rows.size();
  estimate.time_noise = std::sqrt(time / time_weights);
  estimate.power_noise = std::sqrt(power / power_weights);
  if (timed > 0) estimate.time_error /= timed;
  if (drew > 0) estimate.power_error /= drew;
}

}  // namespace

WorkloadParameters RooflineEstimate::workload() const {
  WorkloadParameters filled;
  filled.kind = shape.kind;
  filled.reference_batch = shape.reference_batch;
  filled.base.workers = shape.workers;
  filled.base.fetch_ms = shape.kind == Kind::train ? shape.fetch_ms : 0;
  fill(filled, logs.data());
  return filled;
}

double RooflineEstimate::power_scale() const { return std::exp(logs[count() - 1]); }

RooflineEstimate fit_roofline(const DeviceParameters& device, std::span<const RooflineRow> rows,
                              const WorkloadShape& shape,
                              const RooflineEstimate* expected) noexcept {
  assert(rows.size() <= kMostRooflineRows);
  const Layout layout(shape.kind);
  const RooflineRow middle = middle_row(rows);
  Expectation expectation{guess(shape, middle, kGuessedShares[0]),
                          precision_of(layout, expected != nullptr)};
  if (expected != nullptr) {
    expectation.mean = Eigen::Map<const Vector>(expected->logs.data(), layout.count);
    expectation.mean[layout.scale] = 0;
  }
  const Fit fit(device, rows, shape, expectation);
  Fit::State best = fit.descend(expectation.mean);
  if (!rows.empty()) {
    const std::size_t guesses = rows.size() > kManyRooflineRows ? 2 : kGuessedShares.size();
    for (const std::array<double, 5>& share : std::span(kGuessedShares).first(guesses)) {
      Fit::State other = fit.descend(guess(shape, middle, share));
      if (other.loss < best.loss) best = std::move(other);
    }
  }
  RooflineEstimate estimate;
  estimate.shape = shape;
  // What is slower than was allowed may be so by any factor: of that the estimate is no surer.
  std::array<RooflineRow, kMostRooflineRows> measured;
  const auto end = std::remove_copy_if(rows.begin(), rows.end(), measured.begin(),
                                       [](const RooflineRow& row) { return row.slower; });
  const Fit sure(device, std::span(measured.begin(), end), shape, expectation);
  const Matrix covariance = sure.at(best.logs).curvature.inverse();
  for (int i = 0; i < layout.count; ++i) {
    estimate.logs[static_cast<std::size_t>(i)] = best.logs[i];
    for (int j = 0; j < layout.count; ++j) {
      estimate.covariance[static_cast<std::size_t>(i * layout.count + j)] = covariance(i, j);
    }
  }
  judge(device, rows, estimate);
  return estimate;
}

RooflinePredictor::RooflinePredictor(const DeviceParameters& device,
                                     const RooflineEstimate& estimate, double batch_size)
    : device_(device),
      log_scale_(std::log(estimate.power_scale())),
      time_noise_(estimate.time_noise),
      power_noise_(estimate.power_noise) {
  const WorkloadParameters workload = estimate.workload();
  demand_ = workload.demand(batch_size);
  const auto count = static_cast<Eigen::Index>(estimate.count());
  using Widened = Eigen::Matrix<double, kDemands + 1, Eigen::Dynamic, 0, kDemands + 1, kMost>;
  Widened chain = Widened::Zero(kDemands + 1, count);
  chain.topRows<kDemands>() = chain_of(workload, demand_, batch_size);
  chain(kDemands, count - 1) = 1;
  const Matrix covariance = Eigen::Map<const Matrix>(estimate.covariance.data(), count, count);
  Eigen::Map<Eigen::Matrix<double, kDemands + 1, kDemands + 1>>(covariance_.data()) =
      chain * covariance * chain.transpose();
}

RooflinePrediction RooflinePredictor::predict(const ModelMode& mode) const noexcept {
  using Square = Eigen::Matrix<double, kDemands + 1, kDemands + 1>;
  const LogCost cost = log_cost(device_, demand_, mode);
  const Eigen::Map<const Square> covariance(covariance_.data());
  const auto deviation = [&](const std::array<double, kDemands>& by, double by_scale,
                             double noise) {
    Eigen::Matrix<double, kDemands + 1, 1> slope;
    for (std::size_t i = 0; i < kDemands; ++i) slope[static_cast<Eigen::Index>(i)] = by[i];
    slope[kDemands] = by_scale;
    return std::sqrt(std::max(0.0, slope.dot(covariance * slope)) + noise * noise);
  };
  return {cost.time, cost.power + log_scale_, deviation(cost.time_by, 0, time_noise_),
          deviation(cost.power_by, 1, power_noise_)};
}

}  // namespace gearshift

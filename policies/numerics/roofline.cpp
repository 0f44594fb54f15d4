#include "policies/numerics/roofline.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "boards/first_guesses.h"
#include "policies/numerics/roofline_parameters.h"

namespace gearshift {
namespace {

using roofline::chain_of;
using roofline::fill;
using roofline::kMost;
using roofline::Layout;
using roofline::Matrix;
using roofline::Row;
using roofline::row_at;
using roofline::Vector;

// What a measurement is expected to be off by: noise, and what the formulas leave out.
constexpr double kTimeNoise = 0.04;
constexpr double kPowerNoise = 0.02;
constexpr double kSlowerFitNoise = 0.1;  // of what a minibatch is said to take more than
constexpr double kSlowerTurn = 3;        // deviations: the loss grows no faster beyond them
constexpr double kStudentFreedom = 3;    // of the Student-t distribution: less is more forgiving
constexpr double kScaleWidth = 0.02;     // of the scale of power
constexpr double kMostFitLog = 16;
constexpr int kMostFitSteps = 40;

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
    for (int step = 0; step < kMostFitSteps; ++step) {
      Matrix damped = best.curvature;
      damped.diagonal() *= 1 + damping;
      const Vector change = -damped.ldlt().solve(best.slope);
      if (!change.allFinite()) break;
      const Vector moved = (best.logs + change.cwiseMax(-2.0).cwiseMin(2.0))
                               .cwiseMax(-kMostFitLog)
                               .cwiseMin(kMostFitLog);
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
    const double time = std::min(0.0, model.time - std::log(row.minibatch_ms)) / kSlowerFitNoise;
    const double weight = std::min(1.0, kSlowerTurn / -time);
    const double turned = std::min(-time, kSlowerTurn);
    state.loss += turned * (-time - turned / 2);
    if (time == 0) return;
    const Vector by = model.time_by / kSlowerFitNoise;
    state.slope += weight * time * by;
    state.curvature += weight * by * by.transpose();
  }

  void add_row(const RooflineRow& row, const Row& model, State& state) const {
    if (row.slower) return add_slower(row, model, state);
    const auto [time, power] = deviations(row, model);
    const double squared = time * time + power * power;
    const double seen = row.minibatch_ms > 0 && row.power_w > 0 ? 2 : 1;
    state.loss += 0.5 * (kStudentFreedom + seen) * std::log1p(squared / kStudentFreedom);
    const double weight = (kStudentFreedom + seen) / (kStudentFreedom + squared);
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
    const double weight = std::min(1.0, (kStudentFreedom + 2) / (kStudentFreedom + squared));
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

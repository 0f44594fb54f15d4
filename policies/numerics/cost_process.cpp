#include "policies/numerics/cost_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/numerics/cost_parameters.h"
#include "policies/numerics/elementary.h"

namespace gearshift {
namespace {

// Relative sizes of what the cost model leaves of time and power: what is alike in settings near
// each other, and what is each setting's own. They are those of its residuals on measured training
// grids (docs/evaluation/bayes.md). A stand-in for an unknown board leaves more.
constexpr double kTimeAmplitude = 0.07, kPowerAmplitude = 0.04;
constexpr double kTimeOwn = 0.01, kPowerOwn = 0.013;
constexpr double kStandIn = 2.5;
// How far the scale of power may be from the model's where it is not the model's at all, and the
// logarithm of the odds that it is not.
constexpr double kDoubtedPowerDeviation = 0.5, kLogOddsOfDoubt = -1;
constexpr double kLoadStart = 2;  // of the logarithm, where samples are waited for
constexpr int kMostSteps = 30;
constexpr double kLeastGain = 1e-3;
constexpr double kOutlierDeviations = 4;
constexpr double kOutlierNoise = 0.3;
constexpr std::size_t kLeastRowsToDoubt = 5;

// The mean of two measurements, weighed by their noise, and its noise, in place of the second.
void average(double older, double older_noise, double& mean, double& noise) {
  constexpr double kLeastNoise = 1e-3;
  const double older_weight = 1 / square(std::max(kLeastNoise, older_noise));
  const double weight = 1 / square(std::max(kLeastNoise, noise));
  mean = (older_weight * older + weight * mean) / (older_weight + weight);
  noise = 1 / std::sqrt(older_weight + weight);
}

}  // namespace

CostProcess::Vector CostProcess::Series::all_seen() const {
  return Eigen::Map<const Vector>(seen.data(), static_cast<Eigen::Index>(seen.size()));
}

CostProcess::CostProcess(const SettingGrid& grid, CostCentre centre, CostPrior prior)
    : grid_(grid), centre_(std::move(centre)), prior_(std::move(prior)) {
  assert(centre_.lengths.size() == grid.dimensions());
  const double wide = centre_.own ? 1 : kStandIn;
  time_amplitude_ = wide * kTimeAmplitude * centre_.time_spread;
  power_amplitude_ = wide * kPowerAmplitude * centre_.power_spread;
  time_own_ = wide * kTimeOwn * centre_.time_own_spread;
  power_own_ = wide * kPowerOwn * centre_.power_own_spread;
  const bool several = grid.batch_sizes().size() > 1;
  constants_ = several && grid.kind() == Kind::infer;
  fixed_share_ = several && grid.kind() == Kind::train;
  if (prior_.settings.size() != grid.size()) prior_.settings.assign(grid.size(), {});
  place_settings();
  if (prior_.same) {
    remove_trends();
    fill_gaps();
  } else {
    doubt_table();
  }
  expect();
  prepare_samples();
  likely_ = hypothesis(expected_);
  scatter_times();
  condition();
}

void CostProcess::place_settings() {
  const std::size_t dimensions = grid_.dimensions();
  std::vector<std::vector<double>> logs(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    for (const std::int64_t value : grid_.values(d)) {
      logs[d].push_back(std::log(static_cast<double>(std::max<std::int64_t>(1, value))));
    }
  }
  places_.resize(grid_.size());
  means_.resize(grid_.size());
  coordinates_.reserve(grid_.size() * dimensions);
  for (std::size_t i = 0; i < grid_.size(); ++i) {
    const ModelMode mode = grid_.mode(i);
    const ModelMode& by = centre_.stretch;
    places_[i] = {{mode.cpu_cores * by.cpu_cores, mode.cpu_ghz * by.cpu_ghz,
                   mode.gpu_ghz * by.gpu_ghz, mode.mem_ghz * by.mem_ghz},
                  grid_.batch_size(i)};
    const SettingGrid::Position at = grid_.position(i);
    const auto log = [&](std::size_t d) {
      if (!centre_.quota || d != centre_.quota->dimension) return logs[d][at[d]];
      const std::size_t cores = centre_.quota->cores;
      return std::min(logs[d][at[d]], std::log(100.0) + logs[cores][at[cores]]);
    };
    for (std::size_t d = 0; d < dimensions; ++d) {
      coordinates_.push_back(log(d) / centre_.lengths[d]);
    }
    for (const std::size_t d : centre_.unknown) {
      unknown_.push_back(log(d) - logs[d].back());
    }
  }
}

// Matern 5/2.
double CostProcess::alike(std::size_t one, std::size_t other) const {
  const std::size_t dimensions = grid_.dimensions();
  const double* a = &coordinates_[one * dimensions];
  const double* b = &coordinates_[other * dimensions];
  double squared = 0;
  for (std::size_t d = 0; d < dimensions; ++d) squared += square(a[d] - b[d]);
  const double scaled = std::sqrt(5 * squared);
  return (1 + scaled + 5 * squared / 3) * std::exp(-scaled);
}

double CostProcess::likeness(std::size_t one, std::size_t other) const {
  return spread(one) * spread(other) * alike(one, other);
}

void CostProcess::learn(const CostRow& row) {
  CostRow together = row;
  for (auto older = rows_.begin(); older != rows_.end(); ++older) {
    if (older->setting != row.setting || older->over_limit || row.over_limit) continue;
    average(older->minibatch_ms, older->time_noise, together.minibatch_ms, together.time_noise);
    average(older->power_w, older->power_noise, together.power_w, together.power_noise);
    rows_.erase(older);
    break;
  }
  rows_.push_back(together);
  if (rows_.size() > kMostCostRows) rows_.erase(rows_.begin());
}

void CostProcess::condition() {
  fit_rows();
  if (prior_.same && contradicted()) {  // a table of old: it tells no more than another workload's
    doubt_table();
    expect();
    fit_rows();
  }
  add_over_limit();
  draw_samples();
  for (std::size_t i = 0; i < size(); ++i) means_[i] = pulled(likely_, i);
  scatter_times();
  remembered_.clear();
}

void CostProcess::fit_rows() {
  time_ = {};
  power_ = {};
  for (const CostRow& row : rows_) {
    if (row.over_limit) continue;
    time_.settings.push_back(row.setting);
    time_.seen.push_back(std::log(row.minibatch_ms));
    time_.noise.push_back(square(time_own(row.setting)) + square(row.time_noise));
    power_.settings.push_back(row.setting);
    power_.seen.push_back(std::log(row.power_w));
    power_.noise.push_back(square(power_own(row.setting)) + square(row.power_noise));
  }
  fit_parameters();
  doubt_outliers();
}

void CostProcess::fill_precision(Series& series, double amplitude) const {
  const auto count = static_cast<Eigen::Index>(series.settings.size());
  Matrix covariance(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    for (Eigen::Index j = 0; j < count; ++j) {
      const auto one = static_cast<std::size_t>(i);
      const auto other = static_cast<std::size_t>(j);
      covariance(i, j) =
          square(amplitude) * likeness(series.settings[one], series.settings[other]) +
          (i == j ? series.noise[one] : 0.0);
    }
  }
  series.precision = covariance.llt().solve(Matrix::Identity(count, count));
}

CostProcess::Fit CostProcess::evaluate(const Vector& parameters) const {
  Fit fit{parameters, Vector(static_cast<Eigen::Index>(time_.settings.size())),
          Vector(static_cast<Eigen::Index>(power_.settings.size())), 0};
  const Hypothesis at = hypothesis(parameters);
  for (std::size_t i = 0; i < power_.settings.size(); ++i) {
    const Mean mean = model(at, power_.settings[i]);
    fit.power[static_cast<Eigen::Index>(i)] = mean.log_power;
    // The rows with a time are the first of those with a power.
    if (i < time_.settings.size()) fit.time[static_cast<Eigen::Index>(i)] = mean.log_time;
  }
  const Vector time_off = time_.all_seen() - fit.time;
  const Vector power_off = power_.all_seen() - fit.power;
  fit.loss = time_off.dot(time_.precision * time_off) +
             power_off.dot(power_.precision * power_off) +
             (parameters - expected_).cwiseQuotient(deviation_).squaredNorm();
  return fit;
}

void CostProcess::fill_slopes(const Fit& fit) {
  constexpr double kStep = 1e-4;
  time_.slopes.resize(fit.time.size(), fit.parameters.size());
  power_.slopes.resize(fit.power.size(), fit.parameters.size());
  for (Eigen::Index k = 0; k < fit.parameters.size(); ++k) {
    Vector moved = fit.parameters;
    moved[k] += kStep;
    const Fit beside = evaluate(moved);
    time_.slopes.col(k) = (beside.time - fit.time) / kStep;
    power_.slopes.col(k) = (beside.power - fit.power) / kStep;
  }
}

// Levenberg-Marquardt to the most likely parameters near `from`; leaves covariance_ there.
CostProcess::Fit CostProcess::descend(Vector from) {
  Fit fit = evaluate(from);
  if (fit.time.size() > 0) {  // the scale explains what all rows have in common
    from[kScale] += (time_.all_seen() - fit.time).mean();
    fit = evaluate(from);
  }
  const Vector weight = deviation_.cwiseAbs2().cwiseInverse();
  double damping = 1e-2;
  for (int step = 0; step < kMostSteps; ++step) {
    fill_slopes(fit);
    Matrix curvature = weight.asDiagonal();
    curvature += time_.slopes.transpose() * time_.precision * time_.slopes +
                 power_.slopes.transpose() * power_.precision * power_.slopes;
    const Vector pull =
        weight.cwiseProduct(expected_ - fit.parameters) +
        time_.slopes.transpose() * (time_.precision * (time_.all_seen() - fit.time)) +
        power_.slopes.transpose() * (power_.precision * (power_.all_seen() - fit.power));
    covariance_ = curvature.llt().solve(Matrix::Identity(weight.size(), weight.size()));
    double gain = 0;
    for (int attempt = 0; attempt < 8 && gain <= 0; ++attempt) {
      Matrix damped = curvature;
      damped.diagonal() *= 1 + damping;
      Vector change = damped.llt().solve(pull);
      const double most = change.cwiseAbs().maxCoeff();
      if (most > 1.5) change *= 1.5 / most;
      const Fit next = evaluate(fit.parameters + change);
      damping = next.loss < fit.loss ? std::max(1e-6, damping / 5) : damping * 5;
      if (!(next.loss < fit.loss)) continue;
      gain = fit.loss - next.loss;
      fit = next;
    }
    if (gain < kLeastGain) break;
  }
  return fit;
}

double CostProcess::log_evidence(const Fit& fit) const {
  const Matrix root = covariance_.llt().matrixL();
  return -0.5 * fit.loss + root.diagonal().array().log().sum() - deviation_.array().log().sum();
}

// Power is nearly always on the model's scale; else it may be on any: a sensor that sees other
// rails than the model's does, a carrier board of another make.
CostProcess::Fit CostProcess::doubt_scale(const Fit& trusting) {
  const double trust = deviation_[kPower];
  const Matrix covariance = covariance_;
  const double evidence = log_evidence(trusting);
  deviation_[kPower] = kDoubtedPowerDeviation;
  Fit doubting = descend(trusting.parameters);
  if (log_evidence(doubting) + kLogOddsOfDoubt > evidence) return doubting;
  deviation_[kPower] = trust;
  covariance_ = covariance;
  return trusting;
}

void CostProcess::fit_parameters() {
  fill_precision(time_, time_amplitude_);
  fill_precision(power_, power_amplitude_);
  expect_power();
  // From what was expected, and from where one resource after the other takes the time.
  Fit best = descend(expected_);
  Matrix covariance = covariance_;
  constexpr std::array<std::array<double, 5>, 3> kStarts = {
      {{1.2, 1.2, -0.8, -0.8, -0.8}, {-0.8, -0.8, 1.2, -0.8, -0.8}, {-0.8, -0.8, -0.8, 1.2, -0.8}}};
  std::vector<Vector> starts;
  for (const std::array<double, 5>& start : kStarts) {
    starts.push_back(expected_);
    starts.back().segment(kDemand, kConstants) += Eigen::Map<const Vector>(start.data(), 5);
  }
  // Far below the corner nothing tells that samples are waited for.
  if (constants_ && prior_.workload.slope.S > 0) {
    starts.push_back(expected_);
    starts.back()[kLoad] += kLoadStart;
  }
  for (const Vector& from : starts) {
    if (time_.settings.empty()) break;
    const Fit fit = descend(from);
    if (!(fit.loss < best.loss)) continue;
    best = fit;
    covariance = covariance_;
  }
  covariance_ = covariance;
  if (centre_.own && !prior_.same) best = doubt_scale(best);
  fill_slopes(best);
  likely_ = hypothesis(best.parameters);
  likely_.time_pull = time_.precision * (time_.all_seen() - best.time);
  likely_.power_pull = power_.precision * (power_.all_seen() - best.power);
}

// One reading after the other that all others speak against hardly counts.
void CostProcess::doubt_outliers() {
  for (int round = 0; round < 2 && time_.settings.size() >= kLeastRowsToDoubt; ++round) {
    double* worst = nullptr;
    double most = kOutlierDeviations;
    for (Series* series : {&time_, &power_}) {
      const Vector& pull = series == &time_ ? likely_.time_pull : likely_.power_pull;
      const Matrix through = series->precision * series->slopes;
      const Matrix precision = series->precision - through * covariance_ * through.transpose();
      for (Eigen::Index i = 0; i < pull.size(); ++i) {
        double& noise = series->noise[static_cast<std::size_t>(i)];
        const double deviations = std::abs(pull[i]) / std::sqrt(std::max(1e-9, precision(i, i)));
        if (noise >= square(kOutlierNoise) || deviations <= most) continue;
        most = deviations;
        worst = &noise;
      }
    }
    if (worst == nullptr) return;
    *worst = square(kOutlierNoise);
    fit_parameters();
  }
}

}  // namespace gearshift

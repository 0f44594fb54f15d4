// The uncertain half of CostProcess: rows that say only "more than this", and the samples.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "policies/numerics/cost_process.h"
#include "policies/numerics/elementary.h"
#include "policies/numerics/normal.h"

namespace gearshift {
namespace {

constexpr double kMostScatter = 0.3;
constexpr std::size_t kLooks = 15;   // settings that tell what is typical
constexpr double kLeastWeight = -8;  // log of the least over the greatest weight of a sample

// By how much the logarithm of power is above what was read of it when it was cut, more or less.
constexpr double kReadLess = 0.07, kReadNoise = 0.2;

// How alike a setting is to each row, by the process.
template <typename Likeness>
Eigen::VectorXd likenesses(const std::vector<std::size_t>& settings, Likeness likeness) {
  Eigen::VectorXd alike(static_cast<Eigen::Index>(settings.size()));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    alike[static_cast<Eigen::Index>(i)] = likeness(settings[i]);
  }
  return alike;
}

}  // namespace

// By what was most likely so far.
void CostProcess::scatter_times() {
  scatter_.assign(size(), 0.0);
  if (!constants_ || centre_.load_scatter == 0) return;
  for (std::size_t i = 0; i < size(); ++i) {
    const MinibatchCost cost = minibatch_cost(
        likely_.device, likely_.workload.demand(places_[i].batch_size), places_[i].mode);
    scatter_[i] =
        std::min(kMostScatter, centre_.load_scatter * std::log(cost.cycle_ms / cost.minibatch_ms));
  }
}

CostProcess::Mean CostProcess::pulled(const Hypothesis& at, std::size_t setting) const {
  Mean mean = model(at, setting);
  for (std::size_t i = 0; i < power_.settings.size(); ++i) {
    const double alike = likeness(setting, power_.settings[i]);
    const auto row = static_cast<Eigen::Index>(i);
    mean.log_power += square(power_amplitude_) * alike * at.power_pull[row];
    if (i < time_.settings.size()) {
      mean.log_time += square(time_amplitude_) * alike * at.time_pull[row];
    }
  }
  return mean;
}

void CostProcess::sample(std::size_t setting, CostSamples& samples) const {
  const auto alike = [&](std::size_t other) { return likeness(setting, other); };
  // The rows with a time are the first of those with a power.
  const Vector alike_rows = likenesses(power_.settings, alike);
  const Vector time =
      square(time_amplitude_) * alike_rows.head(static_cast<Eigen::Index>(time_.settings.size()));
  const Vector power = square(power_amplitude_) * alike_rows;
  const double time_known = time.dot(time_.precision * time);
  const double power_known = power.dot(power_.precision * power);
  samples.time_deviation =
      std::sqrt(std::max(0.0, square(time_amplitude_ * spread(setting)) - time_known) +
                square(time_own(setting)));
  samples.power_deviation =
      std::sqrt(std::max(0.0, square(power_amplitude_ * spread(setting)) - power_known) +
                square(power_own(setting)));
  samples.log_time.resize(samples_.size());
  samples.log_power.resize(samples_.size());
  for (std::size_t k = 0; k < samples_.size(); ++k) {
    const Mean mean = model(samples_[k], setting);
    samples.log_time[k] = mean.log_time + time.dot(samples_[k].time_pull);
    samples.log_power[k] = mean.log_power + power.dot(samples_[k].power_pull);
  }
}

const CostSamples& CostProcess::samples(std::size_t setting) const {
  const auto known = remembered_.find(setting);
  if (known != remembered_.end()) return known->second;
  CostSamples samples;
  sample(setting, samples);
  return remembered_.emplace(setting, std::move(samples)).first->second;
}

double CostProcess::typical_power_deviation() const {
  std::vector<double> deviations;
  for (std::size_t look = 0; look < kLooks; ++look) {
    const CostSamples& one = samples((2 * look + 1) * size() / (2 * kLooks));
    double mean = 0, mean_square = 0;
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      mean += weights_[k] * one.log_power[k];
      mean_square += weights_[k] * square(one.log_power[k]);
    }
    const double apart = std::sqrt(std::max(0.0, mean_square - square(mean)));
    deviations.push_back(std::hypot(one.power_deviation, apart));
  }
  const auto middle = deviations.begin() + (centre_.own ? kLooks / 2 : 3 * kLooks / 4);
  std::nth_element(deviations.begin(), middle, deviations.end());
  return *middle;
}

// A row that was cut short at its limit counts as a reading of what its power is on average, given
// that it is above: the one whose posterior has the mean and deviation of the cut normal
// distribution.
void CostProcess::add_over_limit() {
  for (const CostRow& row : rows_) {
    if (!row.over_limit) continue;
    add_cut_reading(row);
    draw_samples();
    CostSamples samples;
    sample(row.setting, samples);
    double mean = 0;
    for (std::size_t k = 0; k < weights_.size(); ++k) mean += weights_[k] * samples.log_power[k];
    double variance = square(samples.power_deviation);
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      variance += weights_[k] * square(samples.log_power[k] - mean);
    }
    const double deviation = std::sqrt(variance);
    const double limit = (std::log(row.power_w) - mean) / deviation;
    if (limit < -2.5) continue;  // it was expected to be over
    const double shift = normal_hazard(limit);
    const double cut_mean = mean + deviation * shift;
    const double cut_variance = variance * std::max(0.02, 1 - shift * (shift - limit));
    const double precision = 1 / cut_variance - 1 / variance;
    if (precision < 1e-3) continue;
    power_.settings.push_back(row.setting);
    power_.seen.push_back((cut_mean / cut_variance - mean / variance) / precision);
    power_.noise.push_back(1 / precision);
    fit_parameters();
  }
}

// How far power reaches is unknown of a board without a model: where one step up is believed to
// draw far more than the limit, that a step was over it tells nothing new, and no other is tried.
// That it drew hardly more than the limit does. Where a knob limits power, that tells how far.
void CostProcess::add_cut_reading(const CostRow& row) {
  if (centre_.own || centre_.power_limit || row.cut_at_w <= 0) return;
  power_.settings.push_back(row.setting);
  power_.seen.push_back(std::log(row.cut_at_w) + kReadLess);
  power_.noise.push_back(square(power_own(row.setting)) + square(kReadNoise));
  fit_parameters();
}

// Standard normal numbers that cover their space evenly: Halton's sequence, in pairs of opposites.
void CostProcess::prepare_samples() {
  constexpr int kPrimes[] = {2,  3,   5,   7,   11,  13,  17,  19,  23,  29,  31,  37,
                             41, 43,  47,  53,  59,  61,  67,  71,  73,  79,  83,  89,
                             97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151};
  constexpr int kSkipped = 17;
  normals_ = Matrix::Zero(expected_.size(), static_cast<Eigen::Index>(kCostSamples));
  for (Eigen::Index k = 0; k < expected_.size(); ++k) {
    const int base = kPrimes[static_cast<std::size_t>(k) % std::size(kPrimes)];
    for (Eigen::Index pair = 0; 2 * pair < normals_.cols(); ++pair) {
      double digit = 1;
      double place = 0;
      for (int rest = static_cast<int>(pair) + kSkipped; rest > 0; rest /= base) {
        digit /= base;
        place += digit * (rest % base);
      }
      // Turned by another amount in each dimension: large bases begin alike.
      place = std::fmod(place + 0.309 * static_cast<double>(k), 1.0);
      normals_(k, 2 * pair) = normal_quantile(std::clamp(place, 0.003, 0.997));
      normals_(k, 2 * pair + 1) = -normals_(k, 2 * pair);
    }
  }
}

void CostProcess::draw_samples() {
  const Matrix root = covariance_.llt().matrixL();
  samples_.clear();
  weights_.clear();
  double most = -std::numeric_limits<double>::infinity();
  for (Eigen::Index k = 0; k < normals_.cols(); ++k) {
    const Fit fit = evaluate(likely_.parameters + root * normals_.col(k));
    samples_.push_back(hypothesis(fit.parameters));
    samples_.back().time_pull = time_.precision * (time_.all_seen() - fit.time);
    samples_.back().power_pull = power_.precision * (power_.all_seen() - fit.power);
    weights_.push_back(0.5 * (normals_.col(k).squaredNorm() - fit.loss));
    most = std::max(most, weights_.back());
  }
  double sum = 0;
  for (double& weight : weights_) sum += weight = std::exp(std::max(kLeastWeight, weight - most));
  for (double& weight : weights_) weight /= sum;
}

}  // namespace gearshift

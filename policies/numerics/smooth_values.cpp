#include "policies/numerics/smooth_values.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "policies/numerics/elementary.h"
#include "policies/numerics/random_draw.h"

namespace gearshift {
namespace {

// Deviations, of logarithms of the value: the process, the slopes and bends over a knob's whole
// range, the level, and what is a setting's own with the noise of a measurement.
constexpr double kAmplitude = 0.2;
constexpr double kSlope = 0.5;
constexpr double kLevel = 1;
constexpr double kOwn = 0.04;
// Of a knob's range, over which values are alike; which of them holds is drawn.
constexpr double kSmoothLengths[] = {0.5, 1};
// How far above the best counts as it is; what is much farther counts by its logarithm, for a
// setting that is many times as dear would bend every slope.
constexpr double kDear = 0.4;
// A reading so far from what its neighbours say counts as being so far.
constexpr double kMostSmoothMisfit = 0.1;
constexpr int kRefits = 3;
constexpr double kOptimism = 0.5;    // deviations for each of the normal number drawn
constexpr double kMostRepeats = 32;  // that a mean is of
// Settings, best on average, whose deviations are worked out.
constexpr std::size_t kMostClose = 1024;

// Of one setting with another before anything was measured: the process, slopes and bends.
double likeness(const Eigen::VectorXd& one, const Eigen::VectorXd& other, double length) {
  const double far = std::sqrt(5 * (one - other).squaredNorm()) / length;
  const double matern = (1 + far + far * far / 3) * std::exp(-far);
  const double trend = one.dot(other) + one.cwiseAbs2().dot(other.cwiseAbs2());
  return kAmplitude * kAmplitude * matern + kLevel * kLevel + kSlope * kSlope * trend;
}

}  // namespace

void SmoothValues::learn(std::size_t setting, double log_value) {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& row) { return row.setting == setting; });
  if (found != rows_.end()) {
    found->count = std::min(found->count + 1, kMostRepeats);
    found->log_value += (log_value - found->log_value) / found->count;
    return;
  }
  if (rows_.size() == kMostSmoothRows) rows_.erase(rows_.begin());
  rows_.push_back({setting, log_value, 1});
}

std::vector<std::vector<double>> SmoothValues::scales(bool logarithms) const {
  std::vector<std::vector<double>> scales(grid_.dimensions());
  for (std::size_t d = 0; d < scales.size(); ++d) {
    const std::vector<std::int64_t>& values = grid_.values(d);
    const auto at = [&](std::size_t i) {
      return logarithms ? std::log(static_cast<double>(std::max<std::int64_t>(1, values[i])))
                        : static_cast<double>(i);
    };
    const double range = at(values.size() - 1) - at(0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      scales[d].push_back(range > 0 ? (at(i) - at(0)) / range : 0);
    }
  }
  return scales;
}

SmoothValues::Vector SmoothValues::coordinates(
    std::size_t setting, const std::vector<std::vector<double>>& scales) const {
  const SettingGrid::Position position = grid_.position(setting);
  Vector at(static_cast<Eigen::Index>(scales.size()));
  for (std::size_t d = 0; d < scales.size(); ++d) {
    at[static_cast<Eigen::Index>(d)] = scales[d][position[d]];
  }
  return at;
}

// The values of the rows, less the first one's, without what misleads.
SmoothValues::Vector SmoothValues::pulls(const Eigen::LLT<Matrix>& factor) const {
  const auto count = static_cast<Eigen::Index>(rows_.size());
  const auto best = std::min_element(
      rows_.begin(), rows_.end(),
      [](const Row& one, const Row& other) { return one.log_value < other.log_value; });
  Vector seen(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const double log_value = rows_[static_cast<std::size_t>(i)].log_value;
    const double dearer = kDear * std::log1p((log_value - best->log_value) / kDear);
    seen[i] = best->log_value + dearer - rows_.front().log_value;
  }
  Vector kept = seen;
  Vector pull = factor.solve(kept);
  for (int i = 0; i < kRefits; ++i) {
    const Vector smooth = kept - kOwn * kOwn * pull;
    kept = smooth + (seen - smooth).cwiseMax(-kMostSmoothMisfit).cwiseMin(kMostSmoothMisfit);
    pull = factor.solve(kept);
  }
  return pull;
}

std::vector<double> SmoothValues::draw(std::mt19937_64& random,
                                       std::span<const std::uint8_t> excluded) const {
  if (rows_.empty()) return {};
  const auto scales = this->scales(draw_uniform(random) < 0.5);
  const double length = kSmoothLengths[draw_uniform(random) < 0.5 ? 0 : 1];
  const double optimism = kOptimism * std::abs(draw_normal(random));
  const auto count = static_cast<Eigen::Index>(rows_.size());
  std::vector<Vector> places;
  for (const Row& row : rows_) places.push_back(coordinates(row.setting, scales));
  const auto likenesses = [&](const Vector& at) {
    Vector like(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      like[i] = likeness(places[static_cast<std::size_t>(i)], at, length);
    }
    return like;
  };
  Matrix covariance(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    covariance.col(i) = likenesses(places[static_cast<std::size_t>(i)]);
  }
  covariance.diagonal().array() += kOwn * kOwn;
  const Eigen::LLT<Matrix> factor(covariance);
  const Vector pull = pulls(factor);
  // A large grid is looked at in strides from a random beginning.
  const std::size_t stride = (grid_.size() + kMostSmoothSettings - 1) / kMostSmoothSettings;
  const auto begin = static_cast<std::size_t>(draw_uniform(random) * static_cast<double>(stride));
  std::vector<double> values(grid_.size(), kHuge);
  std::vector<std::size_t> close;
  for (std::size_t setting = begin; setting < grid_.size(); setting += stride) {
    if (!excluded.empty() && excluded[setting] != 0) continue;
    values[setting] = rows_.front().log_value + likenesses(coordinates(setting, scales)).dot(pull);
    close.push_back(setting);
  }
  if (close.size() > kMostClose) {
    const auto end = close.begin() + kMostClose;
    std::nth_element(close.begin(), end, close.end(), [&](std::size_t one, std::size_t other) {
      return std::pair(values[one], one) < std::pair(values[other], other);
    });
    for (auto far = end; far != close.end(); ++far) values[*far] = kHuge;
    close.erase(end, close.end());
  }
  for (const std::size_t setting : close) {
    const Vector at = coordinates(setting, scales);
    const Vector explained = factor.matrixL().solve(likenesses(at));
    const double variance = likeness(at, at, length) - explained.squaredNorm();
    values[setting] -= optimism * std::sqrt(std::max(0.0, variance));
  }
  return values;
}

}  // namespace gearshift

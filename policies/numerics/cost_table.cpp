// What a table of the very workload, measured on this board another day, tells CostProcess.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <utility>

#include "policies/numerics/cost_process.h"
#include "policies/numerics/elementary.h"

namespace gearshift {
namespace {

// How much is left open of a setting that the table has.
constexpr double kSameSpread = 0.25;
// A setting that it lacks is told by so many of the nearest that it has, as by readings that have
// this much variance of their own, of that of what is alike.
constexpr std::size_t kNeighbours = 16;
constexpr double kOwnVariance = 0.1;
constexpr double kTrendRidge = 0.1;
// Of more pairs of a setting that it lacks and one that it has, some are passed over: 20 ms.
constexpr std::size_t kMostPairs = 1'000'000;
// Another workload's misfit beyond this is a wrong reading.
constexpr float kMostMisfit = 0.25;
constexpr double kContradiction = 3;

}  // namespace

double CostProcess::own_spread(std::size_t setting) const {
  return prior_.same && prior_.settings[setting].known ? kSameSpread : 1.0;
}

// Another workload's, or one that no longer holds.
void CostProcess::doubt_table() {
  prior_.same = false;
  for (SettingPrior& one : prior_.settings) {
    const float most = one.known ? kMostMisfit : 0;
    one.time_misfit = std::clamp(one.time_misfit, -most, most);
    one.power_misfit = std::clamp(one.power_misfit, -most, most);
  }
}

// What the table says of dimensions that the model knows nothing of holds for settings far from its
// own: straight lines, by least squares, which lie flat where it says nothing.
void CostProcess::remove_trends() {
  const auto dimensions = static_cast<Eigen::Index>(centre_.unknown.size());
  const auto row = [&](std::size_t setting) {
    Vector terms = Vector::Ones(dimensions + 1);
    for (Eigen::Index k = 0; k < dimensions; ++k) {
      terms[k + 1] = unknown_[setting * centre_.unknown.size() + static_cast<std::size_t>(k)];
    }
    return terms;
  };
  Matrix normal = kTrendRidge * Matrix::Identity(dimensions + 1, dimensions + 1);
  time_trend_ = power_trend_ = Vector::Zero(dimensions + 1);
  for (std::size_t i = 0; i < size(); ++i) {
    if (!prior_.settings[i].known) continue;
    const Vector terms = row(i);
    normal += terms * terms.transpose();
    time_trend_ += prior_.settings[i].time_misfit * terms;
    power_trend_ += prior_.settings[i].power_misfit * terms;
  }
  const Eigen::LLT<Matrix> solver(normal);
  time_trend_ = solver.solve(time_trend_).eval();
  power_trend_ = solver.solve(power_trend_).eval();
  for (std::size_t i = 0; i < size(); ++i) {
    if (!prior_.settings[i].known) continue;
    const Vector terms = row(i);
    prior_.settings[i].time_misfit -= static_cast<float>(time_trend_.dot(terms));
    prior_.settings[i].power_misfit -= static_cast<float>(power_trend_.dot(terms));
  }
}

// Simple kriging: the process given the misfits of settings nearby.
void CostProcess::fill_gaps() {
  spread_.assign(size(), 1);
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < size(); ++i) {
    if (prior_.settings[i].known) known.push_back(i);
  }
  if (known.empty()) return;
  const std::size_t step = 1 + known.size() * (size() - known.size()) / kMostPairs;
  std::vector<std::pair<double, std::size_t>> near;
  for (std::size_t i = 0; i < size(); ++i) {
    if (prior_.settings[i].known) continue;
    near.clear();
    for (std::size_t k = 0; k < known.size(); k += step) {
      near.emplace_back(-alike(i, known[k]), known[k]);
    }
    const std::size_t count = std::min(kNeighbours, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
    const auto rows = static_cast<Eigen::Index>(count);
    Matrix covariance = kOwnVariance * Matrix::Identity(rows, rows);
    Vector towards(rows), time(rows), power(rows);
    for (Eigen::Index j = 0; j < rows; ++j) {
      const std::size_t one = near[static_cast<std::size_t>(j)].second;
      towards[j] = alike(i, one);
      time[j] = prior_.settings[one].time_misfit;
      power[j] = prior_.settings[one].power_misfit;
      for (Eigen::Index k = 0; k < rows; ++k) {
        covariance(j, k) += alike(one, near[static_cast<std::size_t>(k)].second);
      }
    }
    const Vector weights = covariance.llt().solve(towards);
    prior_.settings[i].time_misfit = static_cast<float>(weights.dot(time));
    prior_.settings[i].power_misfit = static_cast<float>(weights.dot(power));
    spread_[i] = std::sqrt(std::max(square(kSameSpread), 1 - weights.dot(towards)));
  }
  for (const std::size_t i : known) spread_[i] = kSameSpread;
}

// By the chi-squared of all rows, parameters included: beyond kContradiction deviations of it.
bool CostProcess::contradicted() const {
  const auto readings = static_cast<double>(time_.settings.size() + power_.settings.size());
  return evaluate(likely_.parameters).loss > readings + kContradiction * std::sqrt(2 * readings);
}

}  // namespace gearshift

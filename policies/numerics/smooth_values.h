// What settings are worth by measurements alone: a Gaussian process that knows nothing of boards.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "policies/numerics/setting_grid.h"

namespace gearshift {

// Older measurements are forgotten: what a decision costs grows with their number.
inline constexpr std::size_t kMostSmoothRows = 96;
// Of larger grids a random part is looked at.
inline constexpr std::size_t kMostSmoothSettings = 8192;

// The logarithm of the goal's value as a parabola in every knob plus a Matern 5/2 process, with a
// deviation of each setting's own. It is the cost model's complement: where a board is not what
// its model says, the neighbours of what was measured still say something. A setting's own part is
// never drawn: settings are tried in the order of what their neighbours promise, which finds the
// good ones that stand alone among their like sooner than any guess where they are.
class SmoothValues {
 public:
  // Borrows the grid.
  explicit SmoothValues(const SettingGrid& grid) : grid_(grid) {}

  // Of a setting that was learnt before, the mean of the last few.
  void learn(std::size_t setting, double log_value);
  std::size_t size() const { return rows_.size(); }

  // Log values in an optimistic world, one a setting of the grid; infinity where it was not looked
  // at, as all of `excluded` (one entry a setting, not 0; or none at all). They are the mean less a
  // normal number of deviations, one for all settings (optimistic Thompson sampling: May and others
  // 2012, Journal of Machine Learning Research 13), by distances that are drawn as well: between
  // logarithms of knobs or between places on their lists. Empty where nothing was learnt.
  std::vector<double> draw(std::mt19937_64& random,
                           std::span<const std::uint8_t> excluded = {}) const;

 private:
  using Vector = Eigen::VectorXd;
  using Matrix = Eigen::MatrixXd;
  struct Row {
    std::size_t setting = 0;
    double log_value = 0;
    double count = 0;
  };

  Vector pulls(const Eigen::LLT<Matrix>& factor) const;
  // From 0 to 1 in every dimension.
  Vector coordinates(std::size_t setting, const std::vector<std::vector<double>>& scales) const;
  std::vector<std::vector<double>> scales(bool logarithms) const;

  const SettingGrid& grid_;
  std::vector<Row> rows_;  // oldest first
};

}  // namespace gearshift

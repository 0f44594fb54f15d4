#include "policies/numerics/nonnegative_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "policies/numerics/least_squares.h"

namespace gearshift {
namespace {

constexpr int kMaxSteps = 50;
constexpr double kLeastPart = 1e-12;  // of a step
// Of what the rows say of a weight, its pull at least: less is lost in rounding.
constexpr double kLeastPull = 1e-12;

using Matrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMaxFitColumns, kMaxFitColumns>;
using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxFitColumns, 1>;
using Counting = std::array<bool, kMaxFitRows>;  // of each row, whether it counts

// x'Ax / 2 - b'x, up to a constant what the rows that count and the pull miss.
struct Quadratic {
  Matrix a;
  Vector b;
};

Eigen::Map<const Vector> features_of(const FitRow& row) {
  return {row.features.data(), static_cast<Eigen::Index>(row.features.size())};
}

double miss_of(const FitRow& row, const Vector& x) { return row.target - features_of(row).dot(x); }

// Of what is solved: the rows, and what each weight is pulled to, how strongly.
struct Problem {
  std::span<const FitRow> rows;
  Vector expected;
  Vector pull;

  Counting counting(const Vector& x) const {
    Counting counts{};
    for (std::size_t r = 0; r < rows.size(); ++r) {
      counts[r] = !rows[r].at_least || miss_of(rows[r], x) > 0;
    }
    return counts;
  }

  double value(const Vector& x) const {
    double sum = ((x - expected).array().square() * pull.array()).sum();
    for (const FitRow& row : rows) {
      const double miss = miss_of(row, x);
      if (!row.at_least || miss > 0) sum += row.weight * miss * miss;
    }
    return sum;
  }

  Quadratic quadratic(const Counting& counts) const {
    Quadratic made{pull.asDiagonal(), pull.cwiseProduct(expected)};
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (!counts[r]) continue;
      const auto features = features_of(rows[r]);
      const Vector weighed = rows[r].weight * features;
      made.a.noalias() += weighed * features.transpose();
      made.b += rows[r].target * weighed;
    }
    return made;
  }
};

Problem problem_of(std::span<const FitRow> rows, std::span<const double> expected, double pull) {
  const auto columns = static_cast<Eigen::Index>(expected.size());
  Problem problem{rows, Eigen::Map<const Eigen::VectorXd>(expected.data(), columns), {}};
  Vector said = Vector::Zero(columns);
  for (const FitRow& row : rows) said += row.weight * features_of(row).cwiseAbs2();
  problem.pull = (kLeastPull * said).cwiseMax(pull);
  return problem;
}

// Solved for the weights that are free, the others being 0.
Vector solution(const Quadratic& quadratic, const std::array<bool, kMaxFitColumns>& free) {
  Matrix a = quadratic.a;
  Vector b = quadratic.b;
  for (Eigen::Index i = 0; i < b.size(); ++i) {
    if (free[static_cast<std::size_t>(i)]) continue;
    a.row(i).setZero();
    a.col(i).setZero();
    a(i, i) = 1;
    b(i) = 0;
  }
  return a.ldlt().solve(b);
}

// The weight at 0 that has most to gain from growing; -1 where none gains more than rounding.
Eigen::Index most_wanted(const Quadratic& quadratic, const std::array<bool, kMaxFitColumns>& free,
                         const Vector& x) {
  constexpr double kRounding = 1e-13;
  const Vector gain = quadratic.b - quadratic.a * x;
  const Vector sum = quadratic.b.cwiseAbs() + quadratic.a.cwiseAbs() * x;
  Eigen::Index wanted = -1;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if (free[static_cast<std::size_t>(i)] || !(gain(i) > kRounding * sum(i))) continue;
    if (wanted < 0 || gain(i) > gain(wanted)) wanted = i;
  }
  return wanted;
}

// Where it is least with no weight below 0.
Vector nonnegative_minimum(Quadratic quadratic) {
  const Eigen::Index columns = quadratic.b.size();
  // In units in which all curve alike, so that gains can be compared.
  const Vector unit = quadratic.a.diagonal().cwiseSqrt().cwiseInverse();
  quadratic.a = unit.asDiagonal() * quadratic.a * unit.asDiagonal();
  quadratic.b = unit.cwiseProduct(quadratic.b);
  std::array<bool, kMaxFitColumns> free{};
  Vector x = Vector::Zero(columns);
  // Each weight is freed once or little more; the bound is for what rounding does.
  for (Eigen::Index round = 0; round < 3 * columns; ++round) {
    const Eigen::Index wanted = most_wanted(quadratic, free, x);
    if (wanted < 0) break;
    free[static_cast<std::size_t>(wanted)] = true;
    for (;;) {
      const Vector target = solution(quadratic, free);
      // As far towards it as no weight goes below 0: the first to get there is fixed again.
      double part = 1;
      Eigen::Index first = -1;
      for (Eigen::Index i = 0; i < columns; ++i) {
        if (!(target(i) < 0) || !(x(i) / (x(i) - target(i)) < part)) continue;
        part = x(i) / (x(i) - target(i));
        first = i;
      }
      if (first < 0) {
        x = target;
        break;
      }
      x = (x + part * (target - x)).cwiseMax(0);
      x(first) = 0;
      free[static_cast<std::size_t>(first)] = false;
    }
  }
  return unit.cwiseProduct(x);
}

}  // namespace

void nonnegative_fit(std::span<const FitRow> rows, std::span<const double> expected, double pull,
                     std::span<double> weights) noexcept {
  assert(rows.size() <= kMaxFitRows && weights.size() <= kMaxFitColumns && pull > 0);
  const Problem problem = problem_of(rows, expected, pull);
  Vector x = problem.expected.cwiseMax(0);
  Counting counts = problem.counting(x);
  for (int step = 0; step < kMaxSteps; ++step) {
    const Vector target = nonnegative_minimum(problem.quadratic(counts));
    const Counting there = problem.counting(target);
    if (there == counts) {
      x = target;
      break;
    }
    const Vector change = target - x;
    const double before = problem.value(x);
    double part = 1;
    while (part > kLeastPart && !(problem.value(x + part * change) < before)) part /= 2;
    if (part <= kLeastPart) break;
    x += part * change;
    counts = problem.counting(x);
  }
  Eigen::Map<Eigen::VectorXd>(weights.data(), x.size()) = x;
}

}  // namespace gearshift

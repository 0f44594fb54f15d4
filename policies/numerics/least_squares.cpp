#include "policies/numerics/least_squares.h"

#include <Eigen/Dense>
#include <cassert>

namespace gearshift {

void least_squares(std::span<const double> features, std::span<const double> targets,
                   std::span<double> weights) noexcept {
  const auto rows = static_cast<Eigen::Index>(targets.size());
  const auto columns = static_cast<Eigen::Index>(weights.size());
  assert(rows <= kMaxFitRows && columns <= kMaxFitColumns);
  assert(features.size() == targets.size() * weights.size());
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, kMaxFitRows,
                             kMaxFitColumns>;
  using Column = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxFitRows, 1>;
  const Rows matrix = Eigen::Map<const Rows>(features.data(), rows, columns);
  const Column wanted = Eigen::Map<const Column>(targets.data(), rows);
  Eigen::CompleteOrthogonalDecomposition<Rows> decomposition;
  decomposition.setThreshold(1e-9);  // what measurements cannot tell apart
  decomposition.compute(matrix);
  const Column found = decomposition.solve(wanted);
  Eigen::Map<Eigen::VectorXd>(weights.data(), columns) = found;
}

}  // namespace gearshift

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
  Rows matrix = Eigen::Map<const Rows>(features.data(), rows, columns);
  // Features differ by many powers of ten (MHz, and their cubes): each column is scaled by its
  // largest value, so that the threshold tells what depends on others and not what is small.
  Eigen::Matrix<double, kMaxFitColumns, 1> scales;
  for (Eigen::Index column = 0; column < columns; ++column) {
    const double largest = matrix.col(column).cwiseAbs().maxCoeff();
    scales(column) = largest > 0 ? largest : 1;
    matrix.col(column) /= scales(column);
  }
  const Column wanted = Eigen::Map<const Column>(targets.data(), rows);
  Eigen::CompleteOrthogonalDecomposition<Rows> decomposition;
  decomposition.setThreshold(1e-9);  // what measurements cannot tell apart
  decomposition.compute(matrix);
  const Column found = decomposition.solve(wanted);
  Eigen::Map<Eigen::VectorXd>(weights.data(), columns) = found.cwiseQuotient(scales.head(columns));
}

}  // namespace gearshift

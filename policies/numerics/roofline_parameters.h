// Where the parameters of a roofline estimate act: on the demands of a batch size, and through
// these on time and power.
#pragma once

#include <Eigen/Core>

#include "boards/cost_gradient.h"
#include "boards/cost_model.h"
#include "policies/numerics/roofline.h"

namespace gearshift::roofline {

constexpr int kMost = static_cast<int>(kMostDemandParameters);
using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMost, 1>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMost, kMost>;

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

// The workload's demands from the parameters' logarithms, in the order of RooflineEstimate::logs.
void fill(WorkloadParameters& workload, const double* logs);

// By how much the logarithms of a batch size's demands change where those of the parameters do.
using Chain = Eigen::Matrix<double, kDemands, Eigen::Dynamic, 0, kDemands, kMost>;

Chain chain_of(const WorkloadParameters& workload, const Demand& demand, double batch_size);

// Logarithms of time and power with their derivatives by the parameters.
struct Row {
  double time = 0;
  double power = 0;
  Vector time_by, power_by;
};

// `log_scale`: of power.
Row row_at(const DeviceParameters& device, const WorkloadParameters& workload, double log_scale,
           const ModelMode& mode, double batch_size);

}  // namespace gearshift::roofline

#include "policies/numerics/roofline_parameters.h"

#include <cmath>

namespace gearshift::roofline {

void fill(WorkloadParameters& workload, const double* logs) {
  const Layout layout(workload.kind);
  const auto demands = [&](Demand& demand, int first) {
    demand.A = std::exp(logs[first]);
    demand.B = std::exp(logs[first + 1]);
    demand.L = std::exp(logs[first + 2]);
    demand.P = std::exp(logs[first + 3]);
    demand.O = std::exp(logs[first + 4]);
  };
  demands(layout.train ? workload.base : workload.slope, 0);
  if (layout.train) {
    workload.a0 = std::exp(logs[layout.a0]);
  } else {
    demands(workload.base, 5);
  }
  workload.base.kg = std::exp(logs[layout.kg]);
}

Chain chain_of(const WorkloadParameters& workload, const Demand& demand, double batch_size) {
  const Layout layout(workload.kind);
  Chain chain = Chain::Zero(kDemands, layout.count);
  if (layout.train) {
    for (int i = 0; i < 5; ++i) chain(i, i) = 1;
    const double a0 = workload.a0;
    const double by_a0 = a0 / (batch_size + a0) - a0 / (workload.reference_batch + a0);
    chain(0, layout.a0) = chain(1, layout.a0) = by_a0;
  } else {
    const Demand& base = workload.base;
    const double constant[] = {base.A, base.B, base.L, base.P, base.O};
    const double whole[] = {demand.A, demand.B, demand.L, demand.P, demand.O};
    for (int i = 0; i < 5; ++i) {
      chain(i, 5 + i) = constant[i] / whole[i];
      chain(i, i) = 1 - chain(i, 5 + i);
    }
  }
  chain(5, layout.kg) = 1;
  return chain;
}

Row row_at(const DeviceParameters& device, const WorkloadParameters& workload, double log_scale,
           const ModelMode& mode, double batch_size) {
  const Layout layout(workload.kind);
  const Demand demand = workload.demand(batch_size);
  const LogCost cost = log_cost(device, demand, mode);
  const Chain chain = chain_of(workload, demand, batch_size);
  using Demands = Eigen::Matrix<double, kDemands, 1>;
  Row row;
  row.time = cost.time;
  row.power = cost.power + log_scale;
  row.time_by = chain.transpose() * Eigen::Map<const Demands>(cost.time_by.data());
  row.power_by = chain.transpose() * Eigen::Map<const Demands>(cost.power_by.data());
  row.power_by[layout.scale] += 1;
  return row;
}

}  // namespace gearshift::roofline

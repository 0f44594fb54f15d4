#include "boards/cost_model.h"

#include <algorithm>

#include "boards/cost_formula.h"

namespace gearshift {
Demand WorkloadParameters::demand(double batch_size) const {
  Demand demand = base;
  if (kind == Kind::infer) {
    demand.A += slope.A * batch_size;
    demand.B += slope.B * batch_size;
    demand.L += slope.L * batch_size;
    demand.P += slope.P * batch_size;
    demand.O += slope.O * batch_size;
    demand.S += slope.S * batch_size;
    demand.fetch_ms += slope.fetch_ms * batch_size;
    return demand;
  }
  const double gpu_scale = (batch_size + a0) / (reference_batch + a0);
  const double sample_scale = batch_size / reference_batch;
  demand.A *= gpu_scale;
  demand.B *= gpu_scale;
  demand.P *= sample_scale;
  demand.O *= sample_scale;
  demand.fetch_ms *= sample_scale;
  return demand;
}

MinibatchCost minibatch_cost(const DeviceParameters& device, const Demand& demand,
                             const ModelMode& mode) {
  const cost_formula::Work<double> work{demand.A,        demand.B,  demand.L,
                                        demand.P,        demand.O,  demand.workers,
                                        demand.fetch_ms, demand.kg, demand.S};
  const cost_formula::Cost<double> time = cost_formula::minibatch_time(device, work, mode);
  MinibatchCost cost;
  cost.minibatch_ms = time.total_ms;
  cost.cycle_ms = time.cycle_ms;
  cost.gpu_ms = time.gpu_ms;
  cost.fetch_stall_ms = std::max(0.0, time.total_ms - time.gpu_ms - time.own_ms);
  if (time.total_ms <= 0) {  // a workload that demands nothing
    cost.power_w = idle_power_w(device, mode);
    return cost;
  }
  const cost_formula::Activity<double> activity = cost_formula::activity(work, time);
  cost.gpu_utilization = activity.gpu_utilization;
  cost.power_w = cost_formula::board_power_w(device, mode, demand.kg, activity);
  return cost;
}

double idle_power_w(const DeviceParameters& device, const ModelMode& mode) {
  return cost_formula::board_power_w<double>(device, mode, 0, {});
}

}  // namespace gearshift

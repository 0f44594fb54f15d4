#include "boards/cost_model.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// Background work (the system, the logger) never leaves less than this share of the CPU capacity to
// the workload: the kernel's scheduler is fair. All fitted modes leave more.
constexpr double kLeastCapacityShare = 0.25;

// (a^p + b^p)^(1/p): a maximum with a soft corner. Scaled by the larger one, so nothing overflows.
double soft_max(double a, double b, double p) {
  const double most = std::max(a, b);
  if (most <= 0) return 0;
  return most * std::pow(1 + std::pow(std::min(a, b) / most, p), 1 / p);
}

double soft_max(double a, double b, double c, double p) {
  const double most = std::max({a, b, c});
  if (most <= 0) return 0;
  return most *
         std::pow(std::pow(a / most, p) + std::pow(b / most, p) + std::pow(c / most, p), 1 / p);
}

// Supply voltage relative to the lowest, which holds up to `knee_ghz`.
double relative_voltage(double slope, double ghz, double knee_ghz) {
  return 1 + slope * std::max(0.0, ghz - knee_ghz);
}

double cpu_capacity_ghz(const DeviceParameters& device, const ModelMode& mode) {
  const double all = mode.cpu_cores * mode.cpu_ghz;
  return std::max(all - device.J, kLeastCapacityShare * all);
}

// Where the parts of a minibatch's time end up in the power formula.
struct Activity {
  double cpu_ghz = 0;          // CPU cycles used a second
  double gpu_utilization = 0;  // u
  double gpu_rate_ghz = 0;     // A / t
  double dram_rate_ghz = 0;    // B / t
};

double board_power_w(const DeviceParameters& device, const ModelMode& mode, double kg,
                     const Activity& activity) {
  const double all_ghz = mode.cpu_cores * mode.cpu_ghz;
  const double cpu_volt = relative_voltage(device.svc, mode.cpu_ghz, device.fc0);
  const double gpu_volt = relative_voltage(device.svg, mode.gpu_ghz, device.fg0);
  const double cpu_w =
      device.ci * all_ghz + device.cc * std::min(all_ghz, activity.cpu_ghz + device.J);
  const double gpu_clocked = device.rho + (1 - device.rho) * activity.gpu_utilization;
  const double gpu_w =
      device.gi * mode.gpu_ghz * gpu_clocked + device.gg * kg * activity.gpu_rate_ghz;
  return device.p0 + device.m0 * mode.mem_ghz + device.d * activity.dram_rate_ghz +
         cpu_volt * cpu_volt * cpu_w + gpu_volt * gpu_volt * gpu_w;
}

}  // namespace

Demand WorkloadParameters::demand(double batch_size) const {
  Demand demand = base;
  if (kind == Kind::infer) {
    demand.A += slope.A * batch_size;
    demand.B += slope.B * batch_size;
    demand.L += slope.L * batch_size;
    demand.P += slope.P * batch_size;
    demand.O += slope.O * batch_size;
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
  const double cores = mode.cpu_cores;
  const double workers = demand.workers;
  const double cycle_ms = 1 / mode.cpu_ghz + device.kap / mode.mem_ghz;  // h
  const double contention = 1 + device.s2 * std::max(0.0, 1 - cores / (workers + 2));

  const double kernel_ms = soft_max(demand.A / mode.gpu_ghz, demand.B / mode.mem_ghz, device.p);
  const double main_ms = demand.L * cycle_ms * contention;
  const double gpu_ms = soft_max(kernel_ms, main_ms, device.q);

  const double threads = workers >= 1 ? workers + 1 : 2;
  const double cpu_demand = demand.P + demand.L + demand.O;
  const double pool_ms = cpu_demand * (1 + device.s * std::max(0.0, threads / cores - 1)) *
                         (1 + device.kap * mode.cpu_ghz / mode.mem_ghz) /
                         cpu_capacity_ghz(device, mode);

  const double own_ms = demand.O * cycle_ms * contention;  // the main thread, GPU idle
  double total_ms = 0;
  if (workers >= 1) {
    const double work_ms = (demand.P * cycle_ms + demand.fetch_ms) / std::min(workers, cores);
    total_ms = soft_max(gpu_ms, work_ms, pool_ms, device.r) + own_ms;
  } else {  // the main thread also fetches and pre-processes, in line with the GPU
    const double serial_ms =
        gpu_ms + (demand.P + demand.O) * cycle_ms * contention + demand.fetch_ms;
    total_ms = soft_max(serial_ms, pool_ms, device.r);
  }

  MinibatchCost cost;
  cost.minibatch_ms = total_ms;
  cost.gpu_ms = gpu_ms;
  cost.fetch_stall_ms = std::max(0.0, total_ms - gpu_ms - own_ms);
  if (total_ms <= 0) {  // a workload that demands nothing
    cost.power_w = idle_power_w(device, mode);
    return cost;
  }
  cost.gpu_utilization = std::min(1.0, kernel_ms / total_ms);
  cost.power_w = board_power_w(device, mode, demand.kg,
                               {.cpu_ghz = cpu_demand / total_ms,
                                .gpu_utilization = cost.gpu_utilization,
                                .gpu_rate_ghz = demand.A / total_ms,
                                .dram_rate_ghz = demand.B / total_ms});
  return cost;
}

double idle_power_w(const DeviceParameters& device, const ModelMode& mode) {
  return board_power_w(device, mode, 0, {});
}

}  // namespace gearshift

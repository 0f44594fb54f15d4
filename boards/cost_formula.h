// The formulas of the cost model, for plain numbers and for numbers that carry their derivatives.
// docs/board-model.md explains each step. Included by cost_model.cpp and cost_gradient.cpp alone.
#pragma once

#include <algorithm>
#include <cmath>

#include "boards/cost_model.h"

namespace gearshift::cost_formula {

// Background work (the system, the logger) never leaves less than this share of the CPU capacity to
// the workload: the kernel's scheduler is fair. All fitted modes leave more.
inline constexpr double kLeastCapacityShare = 0.25;

// How soft the corner is between a minibatch and the loading of the next one's samples, which goes
// on meanwhile.
inline constexpr double kLoadCorner = 4;

template <class Real>
struct Work {
  Real A, B, L, P, O;
  double workers = 0;
  double fetch_ms = 0;
  Real kg;
  double load = 0;  // S
};

template <class Real>
struct Cost {
  Real kernel_ms, gpu_ms, own_ms, total_ms;
  Real cycle_ms;  // from one minibatch to the next
};

// Where the parts of a minibatch's time end up in the power formula.
template <class Real>
struct Activity {
  Real cpu_ghz;          // CPU cycles used a second
  Real gpu_utilization;  // u
  Real gpu_rate_ghz;     // A / t
  Real dram_rate_ghz;    // B / t
};

// (a^p + b^p)^(1/p): a maximum with a soft corner. Scaled by the larger one, so nothing overflows.
template <class Real>
Real soft_max(const Real& a, const Real& b, double p) {
  using std::pow, std::max, std::min;
  const Real most = max(a, b);
  if (most <= 0) return Real(0);
  return most * pow(1 + pow(min(a, b) / most, p), 1 / p);
}

template <class Real>
Real soft_max(const Real& a, const Real& b, const Real& c, double p) {
  using std::pow, std::max;
  const Real most = max(max(a, b), c);
  if (most <= 0) return Real(0);
  return most * pow(pow(a / most, p) + pow(b / most, p) + pow(c / most, p), 1 / p);
}

inline double cpu_capacity_ghz(const DeviceParameters& device, const ModelMode& mode) {
  const double all = mode.cpu_cores * mode.cpu_ghz;
  return std::max(all - device.J, kLeastCapacityShare * all);
}

// Supply voltage relative to the lowest, which holds up to `knee_ghz`.
inline double relative_voltage(double slope, double ghz, double knee_ghz) {
  return 1 + slope * std::max(0.0, ghz - knee_ghz);
}

template <class Real>
Real board_power_w(const DeviceParameters& device, const ModelMode& mode, const Real& kg,
                   const Activity<Real>& activity) {
  using std::min;
  const double all_ghz = mode.cpu_cores * mode.cpu_ghz;
  const double cpu_volt = relative_voltage(device.svc, mode.cpu_ghz, device.fc0);
  const double gpu_volt = relative_voltage(device.svg, mode.gpu_ghz, device.fg0);
  const Real cpu_w =
      device.ci * all_ghz + device.cc * min(Real(all_ghz), activity.cpu_ghz + device.J);
  const Real gpu_clocked = device.rho + (1 - device.rho) * activity.gpu_utilization;
  const Real gpu_w =
      device.gi * mode.gpu_ghz * gpu_clocked + device.gg * kg * activity.gpu_rate_ghz;
  return device.p0 + device.m0 * mode.mem_ghz + device.d * activity.dram_rate_ghz +
         cpu_volt * cpu_volt * cpu_w + gpu_volt * gpu_volt * gpu_w;
}

template <class Real>
Cost<Real> minibatch_time(const DeviceParameters& device, const Work<Real>& work,
                          const ModelMode& mode) {
  const double cores = mode.cpu_cores;
  const double workers = work.workers;
  const double cycle_ms = 1 / mode.cpu_ghz + device.kap / mode.mem_ghz;  // h
  const double contention = 1 + device.s2 * std::max(0.0, 1 - cores / (workers + 2));

  Cost<Real> cost;
  cost.kernel_ms = soft_max<Real>(work.A / mode.gpu_ghz, work.B / mode.mem_ghz, device.p);
  const Real main_ms = work.L * cycle_ms * contention;
  cost.gpu_ms = soft_max<Real>(cost.kernel_ms, main_ms, device.q);

  const double threads = workers >= 1 ? workers + 1 : 2;
  const Real cpu_demand = work.P + work.L + work.O;
  const Real pool_ms = cpu_demand * (1 + device.s * std::max(0.0, threads / cores - 1)) *
                       (1 + device.kap * mode.cpu_ghz / mode.mem_ghz) /
                       cpu_capacity_ghz(device, mode);

  cost.own_ms = work.O * cycle_ms * contention;  // the main thread, GPU idle
  if (workers >= 1) {
    const Real work_ms = (work.P * cycle_ms + work.fetch_ms) / std::min(workers, cores);
    cost.total_ms = soft_max<Real>(cost.gpu_ms, work_ms, pool_ms, device.r) + cost.own_ms;
  } else {  // the main thread also fetches and pre-processes, in line with the GPU
    const Real serial_ms = cost.gpu_ms + (work.P + work.O) * cycle_ms * contention + work.fetch_ms;
    cost.total_ms = soft_max<Real>(serial_ms, pool_ms, device.r);
  }
  cost.cycle_ms = cost.total_ms;
  if (work.load > 0) {  // the main thread keeps a core
    const double hands = std::clamp(workers, 1.0, std::max(1.0, cores - 1));
    const double load_ms = work.load * cycle_ms / hands;
    cost.cycle_ms = soft_max<Real>(cost.total_ms, Real(load_ms), kLoadCorner);
  }
  return cost;
}

// `cost.total_ms` is above 0.
template <class Real>
Activity<Real> activity(const Work<Real>& work, const Cost<Real>& cost) {
  using std::min;
  return {(work.P + work.L + work.O + Real(work.load)) / cost.cycle_ms,
          min(Real(1.0), cost.kernel_ms / cost.cycle_ms), work.A / cost.cycle_ms,
          work.B / cost.cycle_ms};
}

}  // namespace gearshift::cost_formula

// The analytical board model: time and power of a workload's minibatch in a power mode.
// A roofline-like model of CPU, GPU and memory; formulas in docs/board-model.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/setting.h"

namespace gearshift {

// Clocks of a mode as the model takes them.
struct ModelMode {
  double cpu_cores = 0;
  double cpu_ghz = 0;
  double gpu_ghz = 0;
  double mem_ghz = 0;
};

// What was fitted of a device. `gg` scales every kg; `rho`, the share of the GPU clock tree's power
// that an idle GPU draws, is 1 where it was not fitted.
struct DeviceParameters {
  double kap = 0, p = 1, q = 1, r = 1, J = 0, s = 0, s2 = 0;  // time
  double p0 = 0, m0 = 0, d = 0, ci = 0, cc = 0, gi = 0;       // power
  double fc0 = 0, svc = 0, fg0 = 0, svg = 0, rho = 1, gg = 1;
};

// Demands of one minibatch of the batch size at hand: GPU and DRAM work in ms*GHz, CPU in ms*GHz of
// one core.
struct Demand {
  double A = 0, B = 0, L = 0, P = 0, O = 0;
  double S = 0;  // loading of samples for inference: waited for, and not in a minibatch's time
  double workers = 0;   // loader workers, w
  double fetch_ms = 0;  // disk fetch, F; 0 when cached
  double kg = 0;

  friend bool operator==(const Demand&, const Demand&) = default;
};

// How a workload's demand scales with its batch size. Training scales from `reference_batch`;
// inference is affine in the batch size, and `reference_batch` is what counts as its full load.
struct WorkloadParameters {
  Kind kind = Kind::train;
  Demand base;                  // train: at reference_batch; infer: the constant part
  Demand slope;                 // infer: per sample
  double reference_batch = 16;  // bs0
  double a0 = 0;
  double samples_per_epoch = 0;      // 0: not told
  std::vector<std::string> aliases;  // names under which tables of measurements know it

  // Of one minibatch of `batch_size` samples, more than 0.
  Demand demand(double batch_size) const;
};

struct MinibatchCost {
  double minibatch_ms = 0;
  double cycle_ms = 0;  // from one minibatch to the next: longer where samples are waited for
  double gpu_ms = 0;    // what the papers call GPU compute time
  double fetch_stall_ms =
      0;               // what the minibatch takes beyond GPU compute and the main thread's own work
  double power_w = 0;  // mean board power while the workload runs
  double gpu_utilization = 0;  // 0..1
};

// Time and power of a minibatch. All clocks and the core count must be above 0. Outside the fitted
// range (a core or two at the lowest clocks) it stays finite: see docs/board-model.md.
MinibatchCost minibatch_cost(const DeviceParameters& device, const Demand& demand,
                             const ModelMode& mode);
// Board power with nothing running.
double idle_power_w(const DeviceParameters& device, const ModelMode& mode);

}  // namespace gearshift

// What a virtual board really draws, rail by rail, by the analytical board model.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "boards/cost_model.h"

namespace gearshift {

// The rails of AGX Orin. `vddq` is fed from `sys_5v0` and part of it.
enum class Rail : std::size_t { gpu_soc, cpu_cv, sys_5v0, vddq };
inline constexpr std::size_t kRails = 4;

struct RailPower {
  std::array<double, kRails> mw{};

  double& operator[](Rail rail) { return mw[static_cast<std::size_t>(rail)]; }
  double operator[](Rail rail) const { return mw[static_cast<std::size_t>(rail)]; }
  double total_mw() const { return mw[0] + mw[1] + mw[2]; }
};
// All of it through one rail.
inline RailPower one_rail(double power_w) { return {{1000 * power_w}}; }

// What the board draws for the demand, or idle without one. Its total is minibatch_cost's, or
// idle_power_w's.
RailPower rail_power(const DeviceParameters& device, const std::optional<Demand>& demand,
                     const ModelMode& mode);

// What runs, and what it makes of the board.
struct Activity {
  RailPower power;
  double gpu_utilization = 0;  // 0..1
  double dram_share = 0;       // 0..1 of the memory bandwidth
};

// What a workload asks of the board, which may take other times to train than to serve.
struct RunningLoad {
  const DeviceParameters* device = nullptr;
  Demand demand;
};

// Several workloads take turns minibatch by minibatch: power is the mean weighted with their times.
// None: the board as it idles by `idle`.
Activity board_activity(const DeviceParameters& idle, std::span<const RunningLoad> loads,
                        const ModelMode& mode);

}  // namespace gearshift

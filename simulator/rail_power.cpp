#include "simulator/rail_power.h"

#include <algorithm>

namespace gearshift {
namespace {

// How the power that belongs to no clock is spread over the rails, and how much of the memory's
// goes through VDDQ: like the idle rows that tegrastats prints on this board.
constexpr double kStaticGpuSocShare = 0.28;
constexpr double kStaticCpuShare = 0.12;
constexpr double kVddqMemoryShare = 0.3;
constexpr double kVddqIdleMw = 200;
constexpr double kMwInW = 1000;

double power_mw(const DeviceParameters& device, const std::optional<Demand>& demand,
                const ModelMode& mode) {
  return kMwInW *
         (demand ? minibatch_cost(device, *demand, mode).power_w : idle_power_w(device, mode));
}

}  // namespace

// The model's terms are additive, and those of power do not enter time: what is missing without a
// term is what the term draws.
RailPower rail_power(const DeviceParameters& device, const std::optional<Demand>& demand,
                     const ModelMode& mode) {
  DeviceParameters without_cpu = device;
  without_cpu.ci = without_cpu.cc = 0;
  DeviceParameters without_gpu = device;
  without_gpu.gi = without_gpu.gg = 0;
  DeviceParameters without_memory = device;
  without_memory.m0 = without_memory.d = 0;
  const double total = power_mw(device, demand, mode);
  const double cpu = total - power_mw(without_cpu, demand, mode);
  const double gpu = total - power_mw(without_gpu, demand, mode);
  const double memory = total - power_mw(without_memory, demand, mode);
  const double rest = total - cpu - gpu - memory;
  RailPower power;
  power[Rail::gpu_soc] = gpu + kStaticGpuSocShare * rest;
  power[Rail::cpu_cv] = cpu + kStaticCpuShare * rest;
  power[Rail::sys_5v0] = total - power[Rail::gpu_soc] - power[Rail::cpu_cv];
  power[Rail::vddq] = kVddqIdleMw + kVddqMemoryShare * memory;
  return power;
}

Activity board_activity(const DeviceParameters& idle, std::span<const RunningLoad> loads,
                        const ModelMode& mode) {
  Activity activity;
  if (loads.empty()) {
    activity.power = rail_power(idle, std::nullopt, mode);
    return activity;
  }
  double total_ms = 0;
  for (const auto& [device, demand] : loads) {
    const MinibatchCost cost = minibatch_cost(*device, demand, mode);
    const RailPower power = rail_power(*device, demand, mode);
    for (std::size_t rail = 0; rail < kRails; ++rail) {
      activity.power.mw[rail] += cost.minibatch_ms * power.mw[rail];
    }
    activity.gpu_utilization += cost.minibatch_ms * cost.gpu_utilization;
    activity.dram_share += demand.B / mode.mem_ghz;
    total_ms += cost.minibatch_ms;
  }
  for (double& mw : activity.power.mw) mw /= total_ms;
  activity.gpu_utilization /= total_ms;
  activity.dram_share = std::min(1.0, activity.dram_share / total_ms);
  return activity;
}

}  // namespace gearshift

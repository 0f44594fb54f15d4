#include "simulator/rail_sample.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// Registers of the INA3221: 8 mV a bit of bus voltage, 40 uV a bit of shunt voltage, which is 20 mA
// at the board's shunts.
constexpr std::int64_t kVoltageStepMv = 8;
constexpr std::int64_t kCurrentStepMa = 20;
// The high-voltage rails hang on the board's input; the line to it has some resistance.
constexpr double kInputMv = 19'040;
constexpr double kSystemMv = 5'040;
constexpr double kLineOhm = 0.02;
constexpr std::int64_t kMaxCurrentMa = 81'900;  // the register's 12 bits

struct RailText {
  std::string_view label;
  double supply_mv;
};
constexpr RailText kRailTexts[kRails] = {{"VDD_GPU_SOC", kInputMv},
                                         {"VDD_CPU_CV", kInputMv},
                                         {"VIN_SYS_5V0", kSystemMv},
                                         {"VDDQ_VDD2_1V8AO", kSystemMv}};

const RailText& text_of(Rail rail) { return kRailTexts[static_cast<std::size_t>(rail)]; }

std::int64_t stepped(double value, std::int64_t step) {
  return step * std::llround(value / static_cast<double>(step));
}

}  // namespace

std::string_view rail_label(Rail rail) { return text_of(rail).label; }

RailSample rail_sample(Rail rail, double power_mw) {
  const double supply_mv = text_of(rail).supply_mv;
  RailSample sample;
  sample.voltage_mv = stepped(supply_mv - kLineOhm * power_mw / supply_mv * 1000, kVoltageStepMv);
  const double current_ma = 1000 * power_mw / static_cast<double>(sample.voltage_mv);
  sample.current_ma = std::min(stepped(current_ma, kCurrentStepMa), kMaxCurrentMa);
  return sample;
}

std::int64_t sampled_total_mw(const RailPower& power) {
  std::int64_t total_uw = 0;
  for (const Rail rail : {Rail::gpu_soc, Rail::cpu_cv, Rail::sys_5v0}) {
    const RailSample sample = rail_sample(rail, power[rail]);
    total_uw += sample.voltage_mv * sample.current_ma;
  }
  return (total_uw + 500) / 1000;
}

}  // namespace gearshift

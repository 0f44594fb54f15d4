// A lithium-ion battery: what it holds, and how its voltage sags as it empties and as it is drawn.
#pragma once

#include "controller/battery.h"

namespace gearshift {

struct VirtualBatterySpec {
  double capacity_wh = 10;
  double charge = 1;                      // of the capacity, at the beginning, 0 to 1
  int cells = 3;                          // in series, of 3.0 V empty to 4.2 V full
  double resistance_ohm = 0.1;            // of the whole battery
  double charge_efficiency = 0.95;        // of what flows in, what stays
  double self_discharge_per_day = 0.001;  // of what it holds
  double cutoff_v = 9;  // at the terminals: its own protection switches it off below

  // Throws std::invalid_argument that names the number and what is allowed.
  void check() const;
};

// Pure: what flows is given, and equal flows give equal batteries. Its losses are those of one
// resistance (the Rint model): at the power P at the terminals the current I solves
// P = (V_open - I R) I, and V_open I leaves the cells.
class VirtualBattery {
 public:
  explicit VirtualBattery(const VirtualBatterySpec& spec);

  // `power_w` flows out of the terminals for so long, or in where it is negative: what a full
  // battery cannot take is left with the charger. Spans are cut so that the voltage follows.
  void advance(double power_w, double span_s);

  double energy_wh() const { return energy_wh_; }
  double charge() const { return energy_wh_ / spec_.capacity_wh; }
  double open_circuit_v() const;
  double voltage_v() const { return voltage_v_; }  // at the terminals, under what flowed last
  double current_a() const { return current_a_; }  // out of it
  // It can give no more: what was asked for last pulled it below its cutoff, or nothing is left.
  // Stays so until it is charged.
  bool empty() const { return empty_; }
  // Lost in the resistance and in charging, and by itself, J.
  double lost_j() const { return lost_j_; }
  // Left with the charger, because the battery was full, J.
  double refused_j() const { return refused_j_; }
  // What an ideal gauge reads.
  Battery reading() const;

 private:
  void step(double power_w, double span_s);

  VirtualBatterySpec spec_;
  double energy_wh_;
  double voltage_v_;
  double current_a_ = 0;
  double lost_j_ = 0;
  double refused_j_ = 0;
  bool empty_ = false;
};

}  // namespace gearshift

// Temperatures of a virtual board: a first-order model of chip and heat sink, zones and cooling
// devices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/clock.h"
#include "simulator/board_tree.h"
#include "simulator/faults.h"
#include "simulator/gpu_device.h"
#include "simulator/rail_power.h"

namespace gearshift {

class ThermalModel {
 public:
  // All three must outlive the model. Zones end in "-thermal" on JetPack 6, in "-therm" on 5, where
  // their names are in capitals.
  ThermalModel(int jetpack, const Time& now, const GpuDevice& gpu, const Faults& faults);

  // Must outlive the tree's files.
  void add_files(BoardTree& tree);
  void change(const RailPower& power);

 private:
  enum class Block : std::uint8_t { cpu, gpu, vision, soc, junction };
  struct Zone {
    std::string name;
    Block block;
  };

  double temperature_c(Block block) const;
  double sink_c(Time now) const;
  FileText read_zone(Block block) const;
  void add_cooling_devices(BoardTree& tree);

  const bool capitals_;
  const Time& now_;
  const GpuDevice& gpu_;
  const Faults& faults_;
  std::vector<Zone> zones_;
  RailPower power_;
  double sink_at_change_c_ = 0;
  std::optional<Time> changed_;
};

}  // namespace gearshift

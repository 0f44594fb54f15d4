// A simulated board on a battery: what `gearshift simulate --battery` is told, and what it tells.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/battery_flags.h"
#include "simulator/simulation.h"

namespace gearshift {

// As typed; an empty text was not given.
struct MissionFlags {
  std::string battery{};  // "10Wh"; empty: the board hangs on the mains
  std::string charge = "100%";
  double resistance_ohm = 0.1;
  int cells = 3;
  std::string other_power{};  // "5W"
  std::int64_t samples_per_epoch = 50'000;
  std::string solar{};        // a recorded day
  std::string panel = "60W";  // at 1000 W/m2
  std::string sun = "100%";   // of the recorded day that comes
  std::string confidence = "95%";
  BatteryFlags goal;
};

// --battery, and what counts with it alone.
void add_mission_flags(CLI::App& command, MissionFlags& flags);

// Gives the problem its mission, where there is a battery. Throws std::invalid_argument that names
// the flag, its value and what is allowed.
void add_mission(const MissionFlags& flags, SimulationProblem& problem);

// The battery's own cap; null where there is no battery or nothing plans. Borrows what `predict`
// borrows.
std::unique_ptr<BatteryLimit> make_battery_limit(const MissionFlags& flags,
                                                 const SimulationProblem& problem,
                                                 PredictWork predict, double pause_w);

nlohmann::json mission_json(const MissionFlags& flags, const SimulationProblem& problem,
                            const SimulationResult& result, const BatteryLimit* limit);
// What became of the mission, some lines for people.
std::string mission_text(const MissionFlags& flags, const SimulationProblem& problem,
                         const SimulationResult& result, const BatteryLimit* limit);

}  // namespace gearshift

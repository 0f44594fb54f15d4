// What a battery is to be spent on, as `gearshift run` and `gearshift simulate` are told it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "limits/battery_limit.h"

namespace gearshift {

// As typed; an empty text was not given.
struct BatteryFlags {
  std::string aim{};  // finish, least-energy, serve, progress or none
  std::uint32_t epochs = 0;
  std::string until{};            // "2h"
  std::string reserve = "20%";    // of the capacity
  std::string brownout{};         // "9.5V"
  std::string checkpoint = "3%";  // of the capacity, above the reserve
};

void add_battery_flags(CLI::App& command, BatteryFlags& flags);

// What plans: by default finish with epochs, least-energy never, serve with a time alone, else
// progress. Nullopt for the aim none: nothing plans, and a brown-out or checkpoint is refused.
// Throws std::invalid_argument that names the flag, its value and what is allowed.
std::optional<BatteryLimitOptions> make_battery_options(const BatteryFlags& flags);

// Throws std::invalid_argument where epochs or a time are given that the aim does not plan with.
void refuse_unused(const BatteryFlags& flags, BatteryAim aim);

}  // namespace gearshift

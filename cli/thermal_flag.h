// Which temperatures the board is kept below, as `gearshift run --thermal` says.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "limits/thermal_limit.h"
#include "sensors/thermal_zones.h"

namespace gearshift {

struct ThermalPlan {
  bool off = false;
  std::optional<double> limit_c{};  // of every zone; nullopt: what each one's trips say
};

// "auto", "off", or a temperature, "70C". Throws std::invalid_argument that names the value and
// what is allowed.
ThermalPlan make_thermal_plan(const std::string& text);

// Whether the board's file tells which zones there are, or guesses how they might be called.
enum class ZoneNames { known, guessed };
ZoneNames zone_names(const BoardDescription& board);

// Null where it is off, and where no zone is to be kept below anything. Appends a sentence a zone
// to `findings`. A zone that is guessed at, as firmware has them that stand for no sensor, is
// guarded once it tells a temperature, unless the plan has a limit for all: whoever gave that wants
// it kept, and what cannot be read cannot be kept.
std::unique_ptr<ThermalLimit> make_thermal_limit(const ThermalPlan& plan, ZoneNames names,
                                                 std::span<const ThermalZone> zones,
                                                 std::vector<std::string>& findings);

}  // namespace gearshift

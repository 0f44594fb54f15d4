// What the user wants: an objective and the limits it must be reached within.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gearshift {

enum class Objective : std::uint8_t {
  time,    // least time a sample
  energy,  // least energy a sample
};
constexpr std::string_view objective_name(Objective objective) {
  return objective == Objective::time ? "time" : "energy";
}

// An absent limit binds nothing.
struct Goal {
  Objective objective = Objective::time;
  std::optional<std::int64_t> power_mw;  // mean board power over the board's power window

  friend bool operator==(const Goal&, const Goal&) = default;
};

}  // namespace gearshift

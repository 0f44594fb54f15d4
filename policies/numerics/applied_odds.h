// How likely the board is to put a setting into force, by what it has put into force and what not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/numerics/setting_grid.h"

namespace gearshift {

// Older failures than these are forgotten.
inline constexpr std::size_t kMostFailures = 64;
// So many knobs are taken to be stuck at a time, at most.
inline constexpr std::size_t kMostStuck = 3;

// A knob that is stuck cannot be raised (or lowered) to some value: it fails with that one and all
// beyond, as seen from the safe mode, up to one that was in force. Up to kMostStuck knobs may be,
// each at any value, or a setting may fail by itself: the odds of a setting are summed over all of
// these (Bayes).
class AppliedOdds {
 public:
  // Borrows the grid.
  AppliedOdds(const SettingGrid& grid, const PowerMode& safe);

  void applied(std::size_t setting);
  void failed(std::size_t setting);
  // Marks the settings of the grid (one entry a setting) that are hardly likely to come into force:
  // none before something failed. Takes up to 5 ms of a core at full clocks.
  void exclude(std::span<std::uint8_t> excluded) const;

 private:
  using Position = SettingGrid::Position;

  const SettingGrid& grid_;
  Position safe_{};
  std::array<std::vector<std::uint8_t>, SettingGrid::kDimensions> seen_;  // in force, by value
  std::vector<Position> failures_;
};

}  // namespace gearshift

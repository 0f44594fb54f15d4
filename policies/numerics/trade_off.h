// What every setting of a workload costs in time, power and energy, which settings are worth
// choosing, and which of them fits under a power limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/profile.h"

namespace gearshift {

struct SettingCost {
  PowerMode mode;
  std::int32_t batch_size = 0;
  double time_ms = 0;  // of as many samples as TradeOff::samples
  double power_w = 0;
  double energy_j = 0;  // of as many samples
};

struct TradeOff {
  std::int32_t samples = 0;           // the smallest batch size, so that batch sizes compare
  std::vector<SettingCost> settings;  // the timed cells of the profile, in its order
  // Indices into settings: what no other setting beats in both. The least power first, and the
  // least energy.
  std::vector<std::size_t> power_and_time;
  std::vector<std::size_t> energy_and_time;
};
TradeOff trade_off(const Profile& profile);

// The lookup of PowerTrain's section 5: of the settings with at most this power the fastest, an
// index into settings; nullopt where none draws so little.
std::optional<std::size_t> fastest_under(const TradeOff& costs, double cap_w);

}  // namespace gearshift

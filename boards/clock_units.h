// What clocks are counted in: knobs in kHz, devfreq and the memory clock in Hz, the board model in
// GHz.
#pragma once

#include <cstdint>

namespace gearshift {

inline constexpr std::int64_t kHzInKhz = 1000;
inline constexpr double kKhzInGhz = 1e6;

}  // namespace gearshift

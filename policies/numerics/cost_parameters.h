// What the parameters of CostProcess are: their places in its vector.
#pragma once

#include <Eigen/Core>

namespace gearshift {

// Parameters, all logarithms of factors but the two shares; then those of constants or of the fixed
// share, then a slope of time and one of power for each unknown dimension.
inline constexpr Eigen::Index kScale = 0;   // of all demands
inline constexpr Eigen::Index kDemand = 1;  // A B L P O
inline constexpr Eigen::Index kKg = 6;
inline constexpr Eigen::Index kPower = 7;  // of the board's power
inline constexpr Eigen::Index kTimeShare = 8;
inline constexpr Eigen::Index kPowerShare = 9;
inline constexpr Eigen::Index kCpuPower = 10;
inline constexpr Eigen::Index kMemoryPower = 11;
inline constexpr Eigen::Index kGpuPower = 12;
inline constexpr Eigen::Index kCommon = 13;
inline constexpr Eigen::Index kConstants = 5;
inline constexpr Eigen::Index kLoad = kCommon + kConstants;  // of inference, behind its constants

}  // namespace gearshift

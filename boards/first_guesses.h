// Where fits of a workload's demands start: with one resource after the other taking the time.
#pragma once

#include <array>

namespace gearshift {

// Shares of a minibatch's time that A, B, L, P and O of Demand take, a guess a row; they overlap.
inline constexpr std::array<std::array<double, 5>, 6> kGuessedShares = {
    {{0.5, 0.4, 0.2, 0.3, 0.05},
     {0.8, 0.2, 0.1, 0.1, 0.05},
     {0.2, 0.8, 0.1, 0.1, 0.05},
     {0.2, 0.2, 0.8, 0.1, 0.05},
     {0.2, 0.2, 0.1, 0.8, 0.05},
     {0.3, 0.3, 0.3, 0.01, 0.3}}};

}  // namespace gearshift

// Chooses what to look at first where more was observed than a search has time for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/goal.h"
#include "controller/observation.h"

namespace gearshift {

// Positions of at most `most` observations, oldest first; all of them where there are no more.
// Else each is the newest of its setting that still tells something under the goal: a quarter are
// those of the least value that keep the goal, the others the newest.
std::vector<std::size_t> recall(std::span<const Observation> observations, const Goal& goal,
                                std::size_t most);

}  // namespace gearshift

// What `gearshift simulate` tells of a search that ended.
#pragma once

#include <nlohmann/json.hpp>

#include "simulator/simulation.h"

namespace gearshift {

// The choice on its true cost beside the exhaustive optimum, and what the search cost. The
// problem's goal has the cap that the choice answers to; its tasks' costs are those of the end.
nlohmann::json result_json(const SimulationProblem& problem, const SimulationResult& result);
void print_result(const SimulationProblem& problem, const SimulationResult& result);

}  // namespace gearshift

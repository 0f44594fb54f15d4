// How the settings that policies chose fare where requests come one by one: a table and the fields
// of a JSON row.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "evaluation/comparison.h"
#include "evaluation/concurrent_row.h"
#include "evaluation/request_outcome.h"

namespace gearshift {

// A line for each policy and pattern of arrivals: rows where the best setting trains, then those
// where none does. No lines where no row has outcomes.
ComparisonTable request_table(const Grid& grid, std::span<const ConcurrentRow> rows);

nlohmann::ordered_json to_json(const RequestOutcome& outcome);

}  // namespace gearshift

// How requests fared, as commands print it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "simulator/request_tally.h"

namespace gearshift {

// Counts, and latencies in ms; null for one that is infinite, because so many were not answered.
nlohmann::json to_json(const RequestFigures& requests);
// "3600 came; p50 180.0 ms, p95 371.0 ms, ..., max 447.6 ms; 0 late (0.000 %), of them 0 refused
// and 0 dropped"
std::string requests_text(const RequestFigures& requests);

}  // namespace gearshift

// A distribution as reports for programs have it.
#pragma once

#include <nlohmann/json.hpp>

#include "evaluation/statistics.h"

namespace gearshift {

// {"median": ..., "first_quartile": ..., "third_quartile": ..., "mean": ..., "least": ..., "most":
// ...}; null where there is no value.
nlohmann::ordered_json to_json(const Distribution& of);

}  // namespace gearshift

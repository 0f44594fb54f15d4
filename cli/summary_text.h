// What a run came to: for people at its end, and as the last line of --json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "controller/controller.h"

namespace gearshift {

struct SummaryInputs {
  const KnobSpace& space;
  const Summary& summary;
  const Ledger& ledger;
  bool power_is_estimate = false;
};

std::string summary_text(const SummaryInputs& inputs);
// {"note": "summary", ...}.
nlohmann::json summary_json(const SummaryInputs& inputs);

}  // namespace gearshift

// The parts of `gearshift model`, and what both print.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "boards/model_fit.h"

namespace gearshift {

void add_model_check(CLI::App& model, int& exit_code);
void add_model_fit(CLI::App& model, int& exit_code);
void add_model_profile(CLI::App& model, int& exit_code);

// "time 3.6 % (median 2.1, p90 8.0), power 2.4 % (median 1.7, p90 5.2)"
std::string error_text(const CostError& error);
// In percent, with the units in the names.
nlohmann::ordered_json error_json(const CostError& error);

}  // namespace gearshift

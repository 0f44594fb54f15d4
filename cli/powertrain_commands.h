// The parts of `gearshift powertrain`, and what they share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "controller/profile.h"
#include "policies/powertrain/training.h"

namespace gearshift {

void add_powertrain_train(CLI::App& powertrain, int& exit_code);
void add_powertrain_transfer(CLI::App& powertrain, int& exit_code);
void add_powertrain_predict(CLI::App& powertrain, int& exit_code);
void add_powertrain_evaluate(CLI::App& powertrain, int& exit_code);
void add_powertrain_optimize(CLI::App& powertrain, int& exit_code);

// --seed, --epochs, --loss, --dropout and --batch-rows.
void add_training_options(CLI::App& command, TrainingOptions& options);
// The one profile of a file. Throws CsvError, or std::runtime_error where the file holds none or
// several.
Profile read_one_profile(const std::string& path);
// The same of what was read from `path`.
Profile only_profile(std::vector<Profile> profiles, const std::string& path);
// A bar with the losses, on standard error; on a terminal one line that is written over.
std::function<void(const TrainingProgress&)> training_progress();
// "time 3.1 % (epoch 97, validation loss 0.0032), power ..."
std::string predictor_text(const Predictor& predictor);
nlohmann::ordered_json predictor_json(const Predictor& predictor);

}  // namespace gearshift

// gearshift powertrain train and transfer: profiles in, a model file out.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/powertrain_commands.h"
#include "policies/powertrain/predictor_file.h"

namespace gearshift {
namespace {

struct TrainOptions {
  std::string reference;  // a model file; empty: train afresh
  std::string profile;
  std::string output;
  std::optional<std::size_t> modes;
  TrainingOptions training;
  bool json = false;
};

int run_train(TrainOptions options) {
  const Profile profile = read_one_profile(options.profile);
  std::optional<Predictor> reference;
  if (!options.reference.empty()) reference = read_predictor(options.reference);
  std::vector<std::size_t> cells = timed_cells(profile);
  if (options.modes && *options.modes > cells.size()) {
    std::fprintf(stderr, "gearshift powertrain: --modes %zu: %s has %zu settings with a time\n",
                 *options.modes, options.profile.c_str(), cells.size());
    return kExitUsage;
  }
  if (options.modes) cells = draw_cells(cells, *options.modes, options.training.seed);
  options.training.progress = training_progress();
  const NetworkModule module;
  const Predictor predictor =
      reference ? transfer_predictor(module, *reference, profile, cells, options.training)
                : train_predictor(module, profile, cells, options.training);
  write_predictor(options.output, predictor);
  const PredictionError error = prediction_error(module, predictor, profile, timed_cells(profile));
  const std::size_t all = timed_cells(profile).size();
  if (options.json) {
    nlohmann::ordered_json json = predictor_json(predictor);
    json["model"] = options.output;
    json["profile"] = {{"settings", all},
                       {"time_mape_percent", error.time_percent},
                       {"power_mape_percent", error.power_percent}};
    std::printf("%s\n",
                json.dump(-1, ' ', false, decltype(json)::error_handler_t::replace).c_str());
    return kExitOk;
  }
  std::printf("%s: %s %s, from %zu settings\n", options.output.c_str(), predictor.device.c_str(),
              predictor.workload.c_str(), cells.size());
  std::printf("mean error on these settings:    %s\n", predictor_text(predictor).c_str());
  std::printf("mean error on the whole profile: time %.1f %%, power %.1f %%; %zu settings\n",
              error.time_percent, error.power_percent, all);
  return kExitOk;
}

void add_shared(CLI::App& command, TrainOptions& options) {
  command.add_option("--modes", options.modes, "draw so many settings of the profile; default all")
      ->check(CLI::PositiveNumber);
  command.add_option("-o,--output", options.output, "the model file to write")->required();
  add_training_options(command, options.training);
  command.add_flag("--json", options.json, "one JSON object instead of text");
}

}  // namespace

void add_powertrain_train(CLI::App& powertrain, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = powertrain.add_subcommand("train", "Train a reference from a profile");
  command->add_option("PROFILE", options->profile, "a measured profile, the more modes the better")
      ->required();
  add_shared(*command, *options);
  command->footer("Example: gearshift powertrain train resnet.csv -o resnet.model");
  command->callback([options, &exit_code] { exit_code = run_train(*options); });
}

void add_powertrain_transfer(CLI::App& powertrain, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = powertrain.add_subcommand(
      "transfer", "Take a trained model over to another workload or board");
  command->add_option("MODEL", options->reference, "a model of `gearshift powertrain train`")
      ->required();
  command->add_option("PROFILE", options->profile, "measured modes of the new workload")
      ->required();
  add_shared(*command, *options);
  command->footer(
      "Example: gearshift powertrain transfer resnet.model mobilenet.csv --modes 50 -o "
      "mobilenet.model");
  command->callback([options, &exit_code] { exit_code = run_train(*options); });
}

}  // namespace gearshift

// gearshift powertrain train and transfer: profiles in, a model file out.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "actuators/closed_folder.h"
#include "cli/commands.h"
#include "cli/output_files.h"
#include "cli/powertrain_commands.h"
#include "cli/powertrain_reference.h"
#include "cli/state_folder.h"
#include "policies/powertrain/predictor_file.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

enum class Start { afresh, reference };

struct TrainOptions {
  Start start = Start::afresh;
  std::string reference;  // a model file; empty: the user's own, or gearshift's
  std::string profile;
  std::string output;  // empty: the user's own reference
  std::string state;
  std::optional<std::size_t> modes;
  TrainingOptions training;
  bool json = false;
};

// Its path; the folder is there.
std::string prepared_own_reference(const std::string& state_folder) {
  const std::filesystem::path path = own_reference_path(state_folder);
  make_closed_folder(path.parent_path());
  std::filesystem::create_directories(path.parent_path());  // throws where there is none
  return path.string();
}

void check_files(const TrainOptions& options) {
  CommandFiles files;
  files.reads("PROFILE", options.profile);
  const auto own = options.start == Start::reference && options.reference.empty()
                       ? own_reference(options.state)
                       : std::nullopt;
  files.reads("--reference", own ? own->string() : options.reference);
  files.writes_no_stream("-o", options.output);
  files.check();
}

int run_train(TrainOptions options) {
  check_files(options);
  const Profile profile = read_one_profile(options.profile);
  std::optional<Reference> reference;
  if (options.start == Start::reference)
    reference = find_reference(options.reference, options.state);
  if (options.output.empty()) options.output = prepared_own_reference(options.state);
  check_replaceable(options.output);  // before minutes of training
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
      reference ? transfer_predictor(module, reference->predictor, profile, cells, options.training)
                : train_predictor(module, profile, cells, options.training);
  replace_file(options.output, format_predictor(predictor));
  const PredictionError error = prediction_error(module, predictor, profile, timed_cells(profile));
  const std::size_t all = timed_cells(profile).size();
  if (options.json) {
    nlohmann::ordered_json json = predictor_json(predictor);
    json["model"] = options.output;
    if (reference) json["reference_source"] = reference->source;
    json["profile"] = {{"settings", all},
                       {"time_mape_percent", error.time_percent},
                       {"power_mape_percent", error.power_percent}};
    std::printf("%s\n",
                json.dump(-1, ' ', false, decltype(json)::error_handler_t::replace).c_str());
    return kExitOk;
  }
  std::printf("%s: %s %s, from %zu settings\n", options.output.c_str(), predictor.device.c_str(),
              predictor.workload.c_str(), cells.size());
  if (reference) {
    std::printf("transferred from %s (%s)\n", predictor.reference.c_str(),
                reference->source.c_str());
  }
  std::printf("mean error on these settings:    %s\n", predictor_text(predictor).c_str());
  std::printf("mean error on the whole profile: time %.1f %%, power %.1f %%; %zu settings\n",
              error.time_percent, error.power_percent, all);
  return kExitOk;
}

void add_shared(CLI::App& command, TrainOptions& options) {
  command.add_option("--modes", options.modes, "draw so many settings of the profile; default all")
      ->check(CLI::Range(1, 1'000'000));
  add_training_options(command, options.training);
  command.add_flag("--json", options.json, "one JSON object instead of text");
}

// Only a reference of one's own is there.
CLI::Option* add_state(CLI::App& command, TrainOptions& options) {
  return command.add_option(
      "--state", options.state,
      std::string("folder with the reference of your own; ") + kStateFolderDefault);
}

}  // namespace

void add_powertrain_train(CLI::App& powertrain, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = powertrain.add_subcommand("train", "Train a reference from a profile");
  command->add_option("PROFILE", options->profile, "a measured profile, the more modes the better")
      ->required();
  CLI::Option* const output =
      command->add_option("-o,--output", options->output,
                          "the model file to write; without it the model becomes the reference "
                          "that transfers of this user start from");
  add_shared(*command, *options);
  add_state(*command, *options)->excludes(output);
  command->footer(
      "Example: gearshift powertrain train resnet.csv -o resnet.model\n"
      "Example, as the reference of every later transfer: gearshift powertrain train resnet.csv");
  command->callback([options, &exit_code] { exit_code = run_train(*options); });
}

void add_powertrain_transfer(CLI::App& powertrain, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = powertrain.add_subcommand(
      "transfer", "Take a trained model over to another workload or board");
  options->start = Start::reference;
  command->add_option("PROFILE", options->profile, "measured modes of the new workload")
      ->required();
  CLI::Option* const reference = command->add_option(
      "--reference", options->reference,
      "a model of `gearshift powertrain train`; without it the one that train left "
      "for this user, else the one that ships with gearshift");
  command->add_option("-o,--output", options->output, "the model file to write")->required();
  add_shared(*command, *options);
  add_state(*command, *options)->excludes(reference);
  command->footer(
      "Example: gearshift powertrain transfer mobilenet.csv --modes 50 -o mobilenet.model\n"
      "Example: gearshift powertrain transfer mobilenet.csv --reference resnet.model -o "
      "mobilenet.model");
  command->callback([options, &exit_code] { exit_code = run_train(*options); });
}

}  // namespace gearshift

// gearshift powertrain predict: a model's time and power of every setting, as a profile.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "boards/board_description.h"
#include "cli/commands.h"
#include "cli/output_files.h"
#include "cli/powertrain_commands.h"
#include "cli/predicted_grid.h"
#include "cli/tell.h"
#include "cli/written_output.h"
#include "policies/powertrain/predictor_file.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

struct PredictOptions {
  std::string model;
  std::string profile;
  std::string board;
  std::string output;
  bool json = false;
};

int run_predict(const PredictOptions& options) {
  if (options.profile.empty() == options.board.empty()) {
    std::fprintf(stderr, "gearshift powertrain predict: give either --profile or --board\n");
    return kExitUsage;
  }
  CommandFiles files;
  files.reads("MODEL", options.model);
  files.reads("--profile", options.profile);
  files.reads_board("--board", options.board);
  files.writes("-o", options.output);
  files.check();
  const Predictor predictor = read_predictor(options.model);
  const PredictedGrid grid = options.profile.empty()
                                 ? grid_of_board(options.board, predictor)
                                 : grid_of_profile(read_one_profile(options.profile), predictor);
  const NetworkModule module;
  const Profile profile =
      predicted_profile(module, predictor, grid.device, grid.knobs, grid.settings);
  write_output(options.output, format_profiles(std::span(&profile, 1)));
  std::FILE* const rest = rest_of_answer({options.output});
  if (options.json) {
    const nlohmann::ordered_json json = {{"device", profile.device},
                                         {"workload", profile.workload},
                                         {"model_device", predictor.device},
                                         {"settings", profile.cells().size()},
                                         {"output", options.output}};
    tell(rest, "{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    const bool elsewhere = !is_same_board(predictor.device, profile.device);
    tell(rest, "{}: {} {}, {} predicted settings{}\n", options.output, profile.device,
         profile.workload, profile.cells().size(),
         elsewhere ? ", by a model of another board: " + predictor.device : "");
  }
  return kExitOk;
}

}  // namespace

void add_powertrain_predict(CLI::App& powertrain, int& exit_code) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command =
      powertrain.add_subcommand("predict", "Write what a model predicts of every setting");
  command->add_option("MODEL", options->model, "a model of train or transfer")->required();
  command->add_option("--profile", options->profile, "predict the settings of this profile");
  command->add_option("--board", options->board,
                      "predict every mode of this board, with the batch sizes of the model");
  command
      ->add_option("-o,--output", options->output,
                   "the profile to write, CSV; - is standard output")
      ->required();
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "What is written has the columns of a measured profile, and no mark that it was predicted.\n"
      "Example: gearshift powertrain predict mobilenet.model --board jetson-agx-orin -o "
      "predicted.csv");
  command->callback([options, &exit_code] { exit_code = run_predict(*options); });
}

}  // namespace gearshift

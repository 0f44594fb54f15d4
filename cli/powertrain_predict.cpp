// gearshift powertrain predict: a model's time and power of every setting, as a profile.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "boards/board_description.h"
#include "cli/commands.h"
#include "cli/powertrain_commands.h"
#include "cli/select_board.h"
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

struct Grid {
  std::string device;
  KnobSpace knobs;
  std::vector<PredictedSetting> settings;
};

Grid grid_of_profile(const std::string& path) {
  const Profile profile = read_one_profile(path);
  Grid grid{profile.device, profile.knobs(), {}};
  for (const ProfileCell& cell : profile.cells()) {
    grid.settings.push_back({cell.mode, cell.batch_size});
  }
  return grid;
}

Grid grid_of_board(const std::string& name, const Predictor& predictor) {
  const BoardDescription board = select_board(name, Sysroot("/"));
  Grid grid{board.id, board.knob_space(), {}};
  const std::vector<PowerMode> modes = modes_by_power(board, grid.knobs);
  if (modes.size() * predictor.batch_sizes.size() > kMostProfileRows) {
    throw std::runtime_error(name + ": " + std::to_string(modes.size()) + " modes and " +
                             std::to_string(predictor.batch_sizes.size()) +
                             " batch sizes are more than a profile takes; give --profile");
  }
  for (const std::int32_t size : predictor.batch_sizes) {
    for (const PowerMode& mode : modes) grid.settings.push_back({mode, size});
  }
  return grid;
}

int run_predict(const PredictOptions& options) {
  if (options.profile.empty() == options.board.empty()) {
    std::fprintf(stderr, "gearshift powertrain predict: give either --profile or --board\n");
    return kExitUsage;
  }
  const Predictor predictor = read_predictor(options.model);
  const Grid grid = options.profile.empty() ? grid_of_board(options.board, predictor)
                                            : grid_of_profile(options.profile);
  const NetworkModule module;
  const std::vector<Prediction> predictions = predict(module, predictor, grid.knobs, grid.settings);
  Profile profile(grid.knobs);
  profile.device = grid.device;
  profile.workload = predictor.workload;
  profile.kind = predictor.kind;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    ProfileCell cell;
    cell.mode = grid.settings[i].mode;
    cell.batch_size = grid.settings[i].batch_size;
    cell.minibatch_ms = predictions[i].minibatch_ms;
    cell.power_w = predictions[i].power_w;
    profile.add(cell);
  }
  write_profiles(options.output, std::span(&profile, 1));
  if (options.json) {
    const nlohmann::ordered_json json = {{"device", profile.device},
                                         {"workload", profile.workload},
                                         {"settings", profile.cells().size()},
                                         {"output", options.output}};
    std::printf("%s\n", json.dump().c_str());
  } else {
    std::printf("%s: %s %s, %zu predicted settings\n", options.output.c_str(),
                profile.device.c_str(), profile.workload.c_str(), profile.cells().size());
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
  command->add_option("-o,--output", options->output, "the profile to write, CSV")->required();
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "What is written has the columns of a measured profile, and no mark that it was predicted.\n"
      "Example: gearshift powertrain predict mobilenet.model --board jetson-agx-orin -o "
      "predicted.csv");
  command->callback([options, &exit_code] { exit_code = run_predict(*options); });
}

}  // namespace gearshift

// gearshift pareto: the settings worth choosing, measured or predicted, and the choice for a cap.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/flag_value.h"
#include "cli/output_files.h"
#include "cli/pareto_report.h"
#include "cli/powertrain_commands.h"
#include "cli/predicted_grid.h"
#include "cli/tell.h"
#include "cli/units.h"
#include "cli/written_output.h"
#include "policies/powertrain/predictor_file.h"
#include "trace/csv_lines.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

struct ParetoOptions {
  std::vector<std::string> files;
  std::string board;
  std::string cap;
  std::string plot;
  bool json = false;
};

// A model's first eight bytes are a length, whose high bytes are 0; a profile is text.
bool is_model(std::string_view bytes) {
  constexpr std::size_t kHighest = 7;
  return bytes.size() > kHighest && bytes[kHighest] == '\0';
}

Pareto look_at(const ParetoOptions& options) {
  Pareto pareto;
  if (!options.cap.empty()) {
    pareto.cap_w = static_cast<double>(flag_value("--cap", options.cap, parse_power_mw)) / 1e3;
  }
  std::optional<Profile> profile;
  std::optional<Predictor> predictor;
  for (const std::string& path : options.files) {
    // Once: it may be a pipe.
    const std::string bytes = read_csv_text(path, kMostProfileBytes);
    const bool model = is_model(bytes);
    if (model ? predictor.has_value() : profile.has_value()) {
      throw std::invalid_argument(path + ": a second " + (model ? "model" : "profile") +
                                  "; give one profile, one model, or one of each");
    }
    if (model) {
      predictor = parse_predictor(bytes, path);
    } else {
      profile = only_profile(parse_profiles(bytes, path), path);
    }
  }
  if (!options.board.empty() && (profile || !predictor)) {
    throw std::invalid_argument("--board is for a model alone: a profile has its own settings");
  }
  if (profile && predictor) require_same_kind(*profile, *predictor);
  if (profile) pareto.measured = trade_off(*profile);
  std::optional<Profile> predicted;
  if (predictor) {
    const PredictedGrid grid = profile                  ? grid_of_profile(*profile, *predictor)
                               : !options.board.empty() ? grid_of_board(options.board, *predictor)
                                                        : grid_of_model(*predictor);
    const NetworkModule module;
    predicted = predicted_profile(module, *predictor, grid.device, grid.knobs, grid.settings);
    pareto.predicted = trade_off(*predicted);
    pareto.model = {predictor->device, predictor->workload};
  }
  const Profile& shown = profile ? *profile : *predicted;
  pareto.device = shown.device;
  pareto.workload = shown.workload;
  pareto.kind = shown.kind;
  pareto.knobs = shown.knobs();
  if (pareto.any().settings.empty()) {
    throw std::runtime_error(options.files.front() +
                             ": no setting with the time of a minibatch; a profile of epochs alone "
                             "does not do");
  }
  return pareto;
}

int run_pareto(const ParetoOptions& options) {
  CommandFiles files;
  files.reads("FILE", options.files);
  files.reads_board("--board", options.board);
  files.writes("--plot", options.plot);
  files.check();
  const Pareto pareto = look_at(options);
  if (!options.plot.empty()) write_output(options.plot, pareto_svg(pareto));
  std::FILE* const rest = rest_of_answer({options.plot});
  if (options.json) {
    const nlohmann::ordered_json json = pareto_json(pareto);
    tell(rest, "{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    tell(rest, "{}", pareto_text(pareto));
  }
  return kExitOk;
}

}  // namespace

void add_pareto(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ParetoOptions>();
  CLI::App* command = app.add_subcommand(
      "pareto", "List the settings worth choosing: the fastest by power, and by energy");
  command
      ->add_option(
          "FILE", options->files,
          "a measured profile, a model of `gearshift powertrain`, or one of each: then the "
          "model is asked for the profile's settings and compared with it")
      ->required()
      ->expected(-1);
  command->add_option(
      "--board", options->board,
      "ask a model for every mode of this board; default: the settings it learnt from");
  command->add_option("--cap", options->cap, "choose for this power limit, for example 30W");
  command->add_option("--plot", options->plot,
                      "write a picture into this file, SVG; - is standard output");
  command->add_flag("--json", options->json,
                    "one JSON object, with the whole fronts, instead of text");
  command->footer(
      "Batch sizes are compared by the time of as many samples as the smallest has. A prediction "
      "is\n"
      "no measurement: what is chosen by it may turn out over the cap.\n"
      "Example: gearshift pareto mobilenet.csv --cap 30W --plot mobilenet.svg\n"
      "Example: gearshift pareto mobilenet.csv mobilenet.model --cap 30W");
  command->callback([options, &exit_code] { exit_code = run_pareto(*options); });
}

}  // namespace gearshift

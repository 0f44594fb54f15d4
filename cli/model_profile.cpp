// gearshift model profile: writes what the board model says of every mode as a profile.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "boards/modelled_profile.h"
#include "cli/commands.h"
#include "cli/model_commands.h"
#include "cli/output_files.h"
#include "cli/select_board.h"
#include "cli/select_workload.h"
#include "cli/simulated_problem.h"
#include "cli/tell.h"
#include "cli/written_output.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

struct ModelProfileOptions {
  std::string board;
  std::string workload;
  std::string kind = "train";
  std::vector<std::int32_t> batch_sizes;
  std::vector<std::string> keep;
  std::string output;
  bool json = false;
};

// What a trainer or a server of it calls itself: without the kind that the board file has behind
// it.
std::string name_of(const std::string& workload, Kind kind) {
  const std::string behind = '-' + std::string(kind_name(kind));
  return workload.ends_with(behind) ? workload.substr(0, workload.size() - behind.size())
                                    : workload;
}

int run_profile(const ModelProfileOptions& options) {
  CommandFiles files;
  files.reads_board("--board", options.board);
  files.writes("-o", options.output);
  files.check();
  const BoardDescription board = select_board(options.board, Sysroot("/"));
  const Kind kind = options.kind == "train" ? Kind::train : Kind::infer;
  const WorkloadParameters& workload =
      require_workload(board, options.workload, kind, "--workload").second;
  const KnobSpace knobs = keep_values(board.knob_space(), options.keep);
  std::vector<std::int32_t> sizes = options.batch_sizes;
  if (sizes.empty()) sizes = {static_cast<std::int32_t>(workload.reference_batch)};
  const std::size_t rows = bounded_mode_count(knobs) * sizes.size();
  if (rows > kMostProfileRows) {
    throw std::invalid_argument(
        fmt::format("{} settings: a profile has at most {}; narrow the "
                    "knobs with --keep",
                    rows, kMostProfileRows));
  }
  const Profile profile =
      modelled_profile(board, knobs, name_of(options.workload, kind), workload, sizes);
  write_output(options.output, format_profiles(std::span(&profile, 1)));
  std::FILE* const rest = rest_of_answer({options.output});
  if (options.json) {
    const nlohmann::ordered_json json = {{"device", profile.device},
                                         {"workload", profile.workload},
                                         {"kind", options.kind},
                                         {"settings", profile.cells().size()},
                                         {"output", options.output}};
    tell(rest, "{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    tell(rest, "{}: {} {}, {} settings by the board model, none measured\n", options.output,
         profile.device, profile.workload, profile.cells().size());
  }
  return kExitOk;
}

}  // namespace

void add_model_profile(CLI::App& model, int& exit_code) {
  auto options = std::make_shared<ModelProfileOptions>();
  CLI::App* command =
      model.add_subcommand("profile", "Write what the model says of every mode as a profile");
  command->add_option("--board", options->board, "id of a built-in board, or a board file")
      ->required();
  command->add_option("--workload", options->workload, "a workload of the board file, or its alias")
      ->required();
  command->add_option("--kind", options->kind, "train or infer")
      ->check(CLI::IsMember({"train", "infer"}))
      ->capture_default_str();
  command
      ->add_option("--batch", options->batch_sizes,
                   "batch sizes, separated by commas; default: that of the board file")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000));
  command->add_option(
      "--keep", options->keep,
      "KNOB=VALUE,VALUE: only these values of a knob; may be repeated, and of one knob "
      "those are left that all have");
  command
      ->add_option("-o,--output", options->output,
                   "the profile to write, CSV; - is standard output")
      ->required();
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "What is written has the columns of a measured profile, and no mark that the model made it.\n"
      "Example: gearshift model profile --board jetson-agx-xavier --workload resnet18 -o "
      "xavier.csv");
  command->callback([options, &exit_code] { exit_code = run_profile(*options); });
}

}  // namespace gearshift

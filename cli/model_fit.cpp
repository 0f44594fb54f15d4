// gearshift model fit: fits what a workload demands to a profile, and says how far that carries.
#include "boards/model_fit.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/model_commands.h"
#include "cli/model_fit_chosen.h"
#include "cli/profile_files.h"
#include "cli/seed_flag.h"
#include "cli/select_board.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

struct FitOptions {
  std::string profile;
  std::string board;
  std::size_t cells = 20;
  std::uint64_t seed = 1;
  std::optional<double> workers;
  std::string choose = "spread";
  std::string start;
  std::size_t repeats = 20;
  bool json = false;
};

// `named` by --board, or null: then the board that the profile's device is.
const BoardDescription& board_of(const Profile& profile, const BoardDescription* named) {
  const BoardDescription* board =
      named != nullptr ? named : find_board(profile.device, built_in_boards());
  if (board == nullptr || !board->model) {
    throw std::invalid_argument("'" + (board != nullptr ? board->id : profile.device) +
                                "' is no board with a model; name one, or its board file, with "
                                "--board; `gearshift boards` lists them");
  }
  return *board;
}

// Throws where none of the cells would be left to judge the fit by.
std::vector<FitCell> judged_cells(const BoardDescription& board, const Profile& profile,
                                  const FitOptions& options) {
  std::vector<FitCell> cells = fit_cells(board, profile);
  if (cells.size() <= options.cells) {
    throw std::runtime_error(
        profile.device + " " + profile.workload + ": " + std::to_string(cells.size()) +
        " cells with a time of a minibatch, and --cells " + std::to_string(options.cells) +
        " would leave none to be judged by; take fewer");
  }
  return cells;
}

struct FittedProfile {
  const BoardDescription* board = nullptr;
  std::string workload;
  ModelFit fit;
  CostError held_out;
  std::optional<CostError> board_file;  // on the same held-out cells, where it has the workload
};

FittedProfile fit_profile(const Profile& profile, const BoardDescription& board,
                          const FitOptions& options) {
  FittedProfile fitted;
  fitted.board = &board;
  fitted.workload = profile.workload;
  const std::vector<FitCell> cells = judged_cells(*fitted.board, profile, options);
  std::vector<FitCell> used;
  std::vector<FitCell> held_out;
  std::size_t next = 0;
  const std::vector<std::size_t> spread = spread_cells(cells, options.cells, options.seed);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_used = next < spread.size() && spread[next] == i;
    if (is_used) ++next;
    (is_used ? used : held_out).push_back(cells[i]);
  }
  const DeviceParameters& device = fitted.board->parameters(profile.kind);
  const auto known = fitted.board->find_workload(profile.workload, profile.kind);
  const bool is_known = known != fitted.board->workloads.end();
  constexpr double kUsualWorkers = 4;
  WorkloadParameters start;
  start.kind = profile.kind;
  start.base.workers =
      options.workers.value_or(is_known ? known->second.base.workers : kUsualWorkers);
  start.reference_batch = used.front().batch_size;
  start.a0 = is_known ? known->second.a0 : 0;
  fitted.fit = fit_workload(device, used, start);
  fitted.held_out = cost_error(device, fitted.fit.workload, held_out);
  if (is_known) fitted.board_file = cost_error(device, known->second, held_out);
  return fitted;
}

// Quoted where TOML wants it.
std::string toml_key(const std::string& name) {
  constexpr std::string_view kBare =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (name.find_first_not_of(kBare) == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Ready to be pasted into a board file.
std::string workload_toml(const std::string& name, const WorkloadParameters& workload) {
  std::string text =
      fmt::format("[workload.{}]\nkind = \"{}\"\n", toml_key(name), kind_name(workload.kind));
  const auto line = [&](std::string_view key, double value) {
    text += fmt::format("{} = {:.6g}\n", key, value);
  };
  const Demand& base = workload.base;
  const bool infer = workload.kind == Kind::infer;
  if (!infer) {
    line("reference_batch", workload.reference_batch);
    line("a0", workload.a0);
  }
  line("workers", base.workers);
  const std::pair<const char*, double Demand::*> letters[] = {{"A", &Demand::A},
                                                              {"B", &Demand::B},
                                                              {"L", &Demand::L},
                                                              {"P", &Demand::P},
                                                              {"O", &Demand::O}};
  for (const auto& [letter, member] : letters) {
    line(infer ? std::string(letter) + "0" : letter, base.*member);
    if (infer) line(std::string(letter) + "1", workload.slope.*member);
  }
  if (workload.slope.S > 0) line("S1", workload.slope.S);
  line("kg", base.kg);
  return text;
}

void print(const FittedProfile& fitted, const FitOptions& options) {
  const std::string kind(kind_name(fitted.fit.workload.kind));
  std::printf("# %s, %s, on %s: fitted to %zu cells (seed %llu)\n", fitted.workload.c_str(),
              kind.c_str(), fitted.board->id.c_str(), fitted.fit.error.cells,
              static_cast<unsigned long long>(options.seed));
  std::printf("# fitted cells:   %s\n", error_text(fitted.fit.error).c_str());
  std::printf("# held-out cells: %s; %zu cells\n", error_text(fitted.held_out).c_str(),
              fitted.held_out.cells);
  if (fitted.board_file) {
    std::printf("# the board file on these: %s\n", error_text(*fitted.board_file).c_str());
  }
  std::printf("%s\n", workload_toml(fitted.workload, fitted.fit.workload).c_str());
}

Json fit_json(const FittedProfile& fitted, const FitOptions& options) {
  Json out = {{"board", fitted.board->id},
              {"workload", fitted.workload},
              {"kind", kind_name(fitted.fit.workload.kind)},
              {"seed", options.seed},
              {"fitted", error_json(fitted.fit.error)},
              {"held_out", error_json(fitted.held_out)},
              {"toml", workload_toml(fitted.workload, fitted.fit.workload)}};
  if (fitted.board_file) out["board_file"] = error_json(*fitted.board_file);
  return out;
}

// Nothing that was asked for is dropped silently.
void check_unused_options(const CLI::App& command, const FitOptions& options) {
  const bool chosen = options.choose == "roofline";
  for (const char* flag : {"--start", "--repeats"}) {
    if (command.count(flag) == 0 || chosen) continue;
    throw std::invalid_argument(fmt::format("{} belongs to --choose roofline; leave it out", flag));
  }
  if (options.workers && chosen) {
    throw std::invalid_argument("--workers belongs to --choose spread; leave it out");
  }
}

int run_fit(const FitOptions& options) {
  Json out = {{"fits", Json::array()}};
  std::optional<BoardDescription> named;
  if (!options.board.empty()) named = select_board(options.board, Sysroot("/"));
  for (const Profile& profile : with_rows(read_profiles(options.profile), options.profile)) {
    const BoardDescription& board = board_of(profile, named ? &*named : nullptr);
    if (options.choose == "roofline") {
      const std::vector<FitCell> cells = judged_cells(board, profile, options);
      const ChosenFit fit = fit_chosen(
          board, profile, cells, {options.start, options.cells, options.repeats, options.seed});
      if (options.json) {
        out["fits"].push_back(to_json(fit));
      } else {
        print(fit);
      }
      continue;
    }
    const FittedProfile fitted = fit_profile(profile, board, options);
    if (options.json) {
      out["fits"].push_back(fit_json(fitted, options));
    } else {
      print(fitted, options);
    }
  }
  if (options.json) std::printf("%s\n", out.dump().c_str());
  return kExitOk;
}

}  // namespace

void add_model_fit(CLI::App& model, int& exit_code) {
  auto options = std::make_shared<FitOptions>();
  CLI::App* command = model.add_subcommand(
      "fit", "Fit a workload's demands to some cells of a profile; judge them by the others");
  command->add_option("PROFILE", options->profile, "CSV; each workload in it is fitted")
      ->required();
  command->add_option("--board", options->board,
                      "the board whose parameters are taken, a built-in id or a board file; else "
                      "the profile's device");
  command->add_option("--cells", options->cells, "how many cells to fit, spread over the modes")
      ->check(CLI::Range(kLeastFitCells, kMostFitCells))
      ->capture_default_str();
  add_seed_flag(*command, options->seed, "of the choice of cells");
  command
      ->add_option("--choose", options->choose,
                   "which cells: spread over the modes, or roofline: one after another, each where "
                   "the fit to those before is least sure")
      ->check(CLI::IsMember({"spread", "roofline"}))
      ->capture_default_str();
  command->add_option("--start", options->start,
                      "roofline: the workload of a board file to start from, BOARD/WORKLOAD; by "
                      "default one that is not the profile's");
  command
      ->add_option("--repeats", options->repeats,
                   "roofline: so many fits, each with another first cell")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  command
      ->add_option("--workers", options->workers,
                   "loader workers of the trainer; else those of the board file, else 4")
      ->check(CLI::Range(0, 1024));
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "Prints the parameters as TOML for a board file, with errors as comments: mean, median and\n"
      "90th percentile of the relative error.\n"
      "Example: gearshift model fit my-profile.csv --board jetson-agx-orin --cells 10\n"
      "Example, what a policy would know after ten modes of its own choosing:\n"
      "  gearshift model fit my-profile.csv --choose roofline --cells 10 --repeats 20");
  command->callback([command, options, &exit_code] {
    check_unused_options(*command, *options);
    exit_code = run_fit(*options);
  });
}

}  // namespace gearshift

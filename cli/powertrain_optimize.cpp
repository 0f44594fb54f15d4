// gearshift powertrain optimize: how well modes chosen by prediction keep power limits.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/evaluate_options.h"
#include "cli/powertrain_commands.h"
#include "cli/powertrain_reference.h"
#include "cli/state_folder.h"
#include "cli/tell.h"
#include "policies/numerics/trade_off.h"
#include "policies/powertrain/optimization.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

struct OptimizeOptions {
  std::string reference;
  std::string state;
  std::vector<std::string> targets;
  std::string caps = "17:50:1";
  OptimizationOptions optimization;
  bool json = false;
};

void print(const std::vector<OptimizationRow>& rows, const OptimizeOptions& options,
           const std::string& source) {
  std::printf(
      "The fastest mode under %s W, believed from %zu measured modes; %zu draws of them; transfers "
      "from %s.\nPenalty: time over that of the best measured mode, median (quartiles). Over: "
      "power "
      "over the limit.\n\n",
      options.caps.c_str(), options.optimization.modes, options.optimization.repeats,
      source.c_str());
  std::printf("%-32s %-10s %9s  %-26s %9s %7s %11s %8s\n", "profile", "method", "solutions",
              "penalty %", "area W", "over %", "over 1 W %", "worst W");
  for (const OptimizationRow& row : rows) {
    const Quartiles& penalty = row.penalty_percent;
    std::printf("%-32s %-10s %9zu  %7.1f (%6.1f .. %6.1f) %9.2f %7.1f %11.1f %8.2f\n",
                (row.device + ' ' + row.workload).c_str(),
                std::string(strategy_name(row.strategy)).c_str(), row.solutions, penalty.median,
                penalty.first, penalty.third, row.area_w, row.over_percent, row.over_by_1w_percent,
                row.over_by_most_w);
  }
}

void print_json(const std::vector<OptimizationRow>& rows, const OptimizeOptions& options,
                const std::string& source) {
  Json json = {{"caps_w", options.optimization.caps_w},
               {"modes", options.optimization.modes},
               {"repeats", options.optimization.repeats},
               {"seed", options.optimization.training.seed},
               {"reference_source", source},
               {"rows", Json::array()}};
  for (const OptimizationRow& row : rows) {
    json["rows"].push_back({{"device", row.device},
                            {"workload", row.workload},
                            {"method", strategy_name(row.strategy)},
                            {"solutions", row.solutions},
                            {"penalty_median_percent", row.penalty_percent.median},
                            {"penalty_first_quartile_percent", row.penalty_percent.first},
                            {"penalty_third_quartile_percent", row.penalty_percent.third},
                            {"area_w", row.area_w},
                            {"over_percent", row.over_percent},
                            {"over_by_1w_percent", row.over_by_1w_percent},
                            {"over_by_most_w", row.over_by_most_w}});
  }
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

// Why a profile has no row at all, or none of the highest mode.
void tell_left_out(const Profile& target, const std::vector<double>& caps_w) {
  const double highest_w = *std::max_element(caps_w.begin(), caps_w.end());
  if (!fastest_under(trade_off(target), highest_w)) {
    tell(stderr, "{} {}: no rows: no measured mode draws so little\n", target.device,
         target.workload);
    return;
  }
  if (highest_cell(target) != nullptr) return;
  tell(stderr, "{} {}: no row MAXN: the highest mode ({} batch={}) was not measured\n",
       target.device, target.workload, target.knobs().describe(target.knobs().highest()),
       target.batch_sizes().front());
}

int run_optimize(OptimizeOptions options) {
  options.optimization.caps_w = parse_numbers("--caps", options.caps);
  std::vector<Profile> targets;
  for (const std::string& path : options.targets) targets.push_back(read_one_profile(path));
  const Reference reference = find_reference(options.reference, options.state);
  const bool terminal = isatty(STDERR_FILENO) == 1;
  options.optimization.progress = [terminal](std::size_t done, std::size_t total) {
    tell(stderr, "{}{}/{} draws{}", terminal ? "\r\033[K" : "", done, total,
         !terminal || done == total ? "\n" : "");
  };
  const NetworkModule module;
  const std::vector<OptimizationRow> rows =
      compare_optimization(module, reference.predictor, targets, options.optimization);
  if (rows.empty()) {
    throw std::runtime_error("--caps '" + options.caps +
                             "': no measured mode draws so little; give higher ones");
  }
  for (const Profile& target : targets) tell_left_out(target, options.optimization.caps_w);
  if (options.json) {
    print_json(rows, options, reference.source);
  } else {
    print(rows, options, reference.source);
  }
  return kExitOk;
}

}  // namespace

void add_powertrain_optimize(CLI::App& powertrain, int& exit_code) {
  auto options = std::make_shared<OptimizeOptions>();
  CLI::App* command = powertrain.add_subcommand(
      "optimize", "Choose modes under power limits by prediction, and judge them by measurements");
  command->add_option("--target", options->targets, "a measured profile; may be repeated")
      ->required();
  command->add_option("--reference", options->reference,
                      "a model to transfer from; without it the one that train left for this user, "
                      "else the one that ships with gearshift");
  command->add_option("--state", options->state,
                      std::string("folder with the reference of your own; ") + kStateFolderDefault);
  command->add_option("--caps", options->caps, "power limits, W: FROM:TO:STEP or A,B,C")
      ->capture_default_str();
  command->add_option("--modes", options->optimization.modes, "how many measured modes")
      ->capture_default_str()
      ->check(CLI::Range(3, 1'000'000));
  command->add_option("--repeats", options->optimization.repeats, "draws of the modes")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  add_training_options(*command, options->optimization.training);
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer(
      "MAXN is the highest mode, RND the best of the measured modes; NN and PowerTrain predict "
      "the\n"
      "others. Nothing chosen by prediction is measured before it is held: policies do that.\n"
      "Example: gearshift powertrain optimize --target mobilenet.csv --caps 17:50:1");
  command->callback([options, &exit_code] { exit_code = run_optimize(*options); });
}

}  // namespace gearshift

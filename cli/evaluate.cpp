// gearshift evaluate: many searches of many policies, judged against the exhaustive optimum.
#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/evaluate_drift.h"
#include "cli/evaluate_grid.h"
#include "cli/evaluate_options.h"
#include "cli/evaluate_progress.h"
#include "cli/evaluate_recurring.h"
#include "controller/policy.h"
#include "evaluation/html_report.h"
#include "evaluation/online_report.h"
#include "evaluation/table_report.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

std::string results_path(const EvaluateOptions& options) {
  if (!options.results.empty()) return options.results;
  for (const std::string* report : {&options.json, &options.csv, &options.html}) {
    if (!report->empty()) return *report + ".trials";
  }
  return "";
}

// The command line as one could type it again.
std::string command_text(const CLI::App& command) {
  std::string text = "gearshift evaluate";
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      const bool plain = value.find_first_of(" '\"$*?;&|<>()`\\") == std::string::npos;
      text += option->get_positional() ? "" : " " + option->get_name();
      text += plain ? ' ' + value : " '" + value + '\'';
    }
  }
  return text;
}

unsigned cores() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<unsigned>(online) : 1;
}

// The weights are told row by row.
std::string objective_text(const EvaluateOptions& options) {
  if (!options.objective.empty()) return options.objective;
  return options.problem == "infer" ? "latency" : "time";
}

Provenance provenance_of(const EvaluateOptions& options, const std::string& command) {
  return {.command = command,
          .version = "gearshift " GEARSHIFT_VERSION,
          .date = fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(std::time(nullptr))),
          .conditions = fmt::format(
              "least {}; effects: {}; missing cells: {}; at most {} measurements a "
              "search",
              objective_text(options), effects_of(options), options.missing, options.probes)};
}

void write_online_reports(const EvaluateOptions& options, const Grid& grid,
                          const std::vector<OnlineRow>& rows,
                          const std::vector<OnlineRow>& rows_of_all, const std::string& command) {
  const std::vector<OnlineStanding> standings = summarise_online(rows);
  const std::vector<OnlineStanding> standings_of_all = summarise_online(rows_of_all);
  const OnlineAllCells all_cells{.rows = rows_of_all, .standings = standings_of_all};
  const OnlineAllCells* all = rows_of_all.empty() ? nullptr : &all_cells;
  if (!options.json.empty()) replace_file(options.json, online_json(grid, rows, standings, all));
  if (!options.csv.empty()) replace_file(options.csv, online_csv(grid, rows, all));
  if (!options.html.empty()) {
    const Provenance provenance = provenance_of(options, command);
    replace_file(options.html, online_html(grid, rows, standings, provenance, all));
  }
  std::printf("%s", online_text(grid, standings, all).c_str());
  std::fflush(stdout);
}

void write_reports(const EvaluateOptions& options, const Grid& grid, const std::vector<Row>& rows,
                   const std::vector<Row>& rows_of_all, const std::string& command) {
  const std::vector<Standing> standings = summarise(grid, rows);
  const std::vector<Standing> standings_of_all = summarise(grid, rows_of_all);
  const AllCells all_cells{.rows = rows_of_all, .standings = standings_of_all};
  const AllCells* all = rows_of_all.empty() ? nullptr : &all_cells;
  if (!options.json.empty()) replace_file(options.json, json_report(grid, rows, standings, all));
  if (!options.csv.empty()) replace_file(options.csv, csv_report(grid, rows, all));
  if (!options.html.empty()) {
    const Provenance provenance = provenance_of(options, command);
    replace_file(options.html, html_report(grid, rows, standings, provenance, all));
  }
  std::printf("%s", text_report(grid, standings, all).c_str());
  std::fflush(stdout);
}

// A script that failed has rows, too: the safe setting is held. They are not to be overlooked.
template <typename AnyRow>
void report_failures(const Grid& grid, const std::vector<AnyRow>& rows) {
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    std::size_t failed = 0;
    std::string first;
    for (const AnyRow& row : rows) {
      if (row.of.policy != policy || row.trial.failure.empty()) continue;
      if (failed++ == 0) first = row.trial.failure;
    }
    if (failed == 0) continue;
    fmt::print(stderr, "gearshift evaluate: {} failed in {} of {} rows; the first time:\n{}\n",
               grid.policies[policy].name, failed, rows.size() / grid.policies.size(), first);
  }
}

// Nothing where the grid is null.
template <typename AnyRow, typename Judge>
std::vector<AnyRow> judged(const Grid* grid, const std::vector<std::optional<Trial>>& trials,
                           Judge judge) {
  std::vector<AnyRow> rows;
  if (grid == nullptr) return rows;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    rows.push_back(judge(*grid, grid->at(i), *trials[i]));
  }
  return rows;
}

int evaluate(const EvaluateOptions& options, const std::string& command) {
  const EvaluateGrid made(options);
  const Grid& grid = made.grid();
  std::optional<TrialFile> file;
  const std::string path = results_path(options);
  if (!path.empty()) file.emplace(path);
  EvaluateProgress progress;
  const unsigned threads = options.threads > 0 ? options.threads : cores();
  const auto trials = run_grid(
      grid, [&](const Case& one) { return made.run(one); }, file ? &*file : nullptr, progress,
      threads);
  progress.end();
  const auto finished = static_cast<std::size_t>(
      std::count_if(trials.begin(), trials.end(), [](const auto& one) { return one.has_value(); }));
  if (finished < trials.size()) {
    std::fprintf(
        stderr, "gearshift evaluate: stopped after %zu of %zu rows; %s\n", finished, trials.size(),
        path.empty() ? "give --results FILE to keep them the next time"
                     : (path + " has them, and the same command goes on from there").c_str());
    return kExitFailed;
  }
  const std::size_t measurements = made.measurements();
  if (measurements > 0) {
    const auto judge_it = [&](const Grid& of, const Case& one, const Trial& trial) {
      return judge_online(of, one, trial, measurements);
    };
    const auto rows = judged<OnlineRow>(&grid, trials, judge_it);
    const auto all = judged<OnlineRow>(made.all_cells(), trials, judge_it);
    write_online_reports(options, grid, rows, all, command);
    report_failures(grid, rows);
  } else {
    const auto rows = judged<Row>(&grid, trials, judge);
    const auto all = judged<Row>(made.all_cells(), trials, judge);
    write_reports(options, grid, rows, all, command);
    report_failures(grid, rows);
  }
  std::fprintf(stderr, "%zu rows in %.1f s on %u threads\n", trials.size(),
               progress.seconds_elapsed(), threads);
  return kExitOk;
}

}  // namespace

void add_evaluate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Compare policies on measured workloads over a grid of limits");
  add_evaluate_flags(*command, *options);
  command->footer(
      "Each case is one search on a simulated board, from an empty memory; its choice is judged on "
      "its\n"
      "true cost. Stopped with Ctrl-C, the same command goes on where it was.\n"
      "Example: training under 10 to 50 W\n"
      "  gearshift evaluate --profile resnet_train.csv --caps 10:50:1 --json out.json --html "
      "out.html \\\n"
      "    --policy scripts/binary_search.lua,scripts/maxn.lua\n"
      "Example: inference, three seeds with noise, fewer modes\n"
      "  gearshift evaluate --profile resnet_infer.csv --problem infer --latency-ms 50:150:50 \\\n"
      "    --rate 30,60,90 --keep cpu_cores=4,8,12 --seeds 3 --effects jitter,lag,unapplied \\\n"
      "    --policy scripts/binary_search.lua\n"
      "Example: policies that keep on learning, judged measurement by measurement\n"
      "  gearshift evaluate --problem online --profile resnet_train.csv --policy scripts/bayes.lua "
      "\\\n"
      "    --weights 0,0.5,1 --measurements 500 --seeds 20 --json out.json\n"
      "Example: clocks that throttle, another workload, and a cap that falls while a choice is "
      "held\n"
      "  gearshift evaluate --problem drift --profile resnet_train.csv --profile "
      "mobilenet_train.csv \\\n"
      "    --caps 40,20 --policy scripts/bayes.lua --seeds 5 --effects all\n"
      "Example: training jobs that recur, each run with a batch size and power limits of its own\n"
      "  gearshift evaluate --problem recurring --profile gpu.csv --epochs epochs.csv \\\n"
      "    --policy scripts/thompson.lua --eta 0.5 --beta 2 --seeds 10 --json out.json");
  command->callback([command, options, &exit_code] {
    try {
      read_evaluate_spec(*command, *options);
      check_evaluate_options(*options);
      const bool grid = options->problem != "recurring" && options->problem != "drift";
      if (grid) make_problems(*options);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift evaluate: %s\n", error.what());
      exit_code = kExitUsage;
      return;
    }
    try {
      exit_code = options->problem == "recurring" ? evaluate_recurring(*options)
                  : options->problem == "drift"   ? evaluate_drift(*options)
                                                  : evaluate(*options, command_text(*command));
    } catch (const PolicyError& error) {
      std::fprintf(stderr, "gearshift evaluate: %s\n", error.what());
      exit_code = kExitPolicy;
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "gearshift evaluate: %s\n", error.what());
      exit_code = kExitUsage;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift evaluate: %s\n", error.what());
      exit_code = kExitFailed;
    }
  });
}

}  // namespace gearshift

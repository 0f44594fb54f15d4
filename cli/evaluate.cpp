// gearshift evaluate: many searches of many policies, judged against the exhaustive optimum.

#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/evaluate_concurrent.h"
#include "cli/evaluate_drift.h"
#include "cli/evaluate_grid.h"
#include "cli/evaluate_options.h"
#include "cli/evaluate_recurring.h"
#include "cli/evaluate_run.h"
#include "cli/output_files.h"
#include "cli/read_script.h"
#include "cli/tell.h"
#include "cli/written_output.h"
#include "controller/policy.h"
#include "controller/quoted_word.h"
#include "evaluation/html_report.h"
#include "evaluation/online_report.h"
#include "evaluation/table_report.h"

namespace gearshift {
namespace {

// The command line as one could type it again.
std::string command_text(const CLI::App& command) {
  std::string text = "gearshift evaluate";
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      text += option->get_positional() ? "" : " " + option->get_name();
      text += ' ' + quoted_word(value);
    }
  }
  return text;
}

void write_online_reports(const EvaluateOptions& options, const Grid& grid,
                          const std::vector<OnlineRow>& rows,
                          const std::vector<OnlineRow>& rows_of_all, const std::string& command) {
  const std::vector<OnlineStanding> standings = summarise_online(rows);
  const std::vector<OnlineStanding> standings_of_all = summarise_online(rows_of_all);
  const OnlineAllCells all_cells{.rows = rows_of_all, .standings = standings_of_all};
  const OnlineAllCells* all = rows_of_all.empty() ? nullptr : &all_cells;
  if (!options.json.empty()) write_output(options.json, online_json(grid, rows, standings, all));
  if (!options.csv.empty()) write_output(options.csv, online_csv(grid, rows, all));
  if (!options.html.empty()) {
    const Provenance provenance = provenance_of(options, command);
    write_output(options.html, online_html(grid, rows, standings, provenance, all));
  }
  tell(rest_of_answer({options.json, options.csv, options.html}), "{}",
       online_text(grid, rows, standings, all));
}

void write_reports(const EvaluateOptions& options, const Grid& grid, const std::vector<Row>& rows,
                   const std::vector<Row>& rows_of_all, const std::string& command) {
  const std::vector<Standing> standings = summarise(grid, rows);
  const std::vector<Standing> standings_of_all = summarise(grid, rows_of_all);
  const AllCells all_cells{.rows = rows_of_all, .standings = standings_of_all};
  const AllCells* all = rows_of_all.empty() ? nullptr : &all_cells;
  if (!options.json.empty()) write_output(options.json, json_report(grid, rows, standings, all));
  if (!options.csv.empty()) write_output(options.csv, csv_report(grid, rows, all));
  if (!options.html.empty()) {
    const Provenance provenance = provenance_of(options, command);
    write_output(options.html, html_report(grid, rows, standings, provenance, all));
  }
  tell(rest_of_answer({options.json, options.csv, options.html}), "{}",
       text_report(grid, rows, standings, all));
}

// Nothing where the grid is null.
template <typename AnyRow, typename Judge>
std::vector<AnyRow> judged(const Grid* grid, const std::vector<Trial>& trials, Judge judge) {
  std::vector<AnyRow> rows;
  if (grid == nullptr) return rows;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    rows.push_back(judge(*grid, grid->at(i), trials[i]));
  }
  return rows;
}

int evaluate_grid(const EvaluateOptions& options, const std::string& command) {
  const EvaluateGrid made(options);
  const Grid& grid = made.grid();
  const auto trials = run_or_resume(options, grid, [&](const Case& one) { return made.run(one); });
  if (!trials) return kExitFailed;
  const std::size_t measurements = made.measurements();
  if (measurements > 0) {
    const auto judge_it = [&](const Grid& of, const Case& one, const Trial& trial) {
      return judge_online(of, one, trial, measurements);
    };
    const auto rows = judged<OnlineRow>(&grid, *trials, judge_it);
    const auto all = judged<OnlineRow>(made.all_cells(), *trials, judge_it);
    write_online_reports(options, grid, rows, all, command);
  } else {
    const auto rows = judged<Row>(&grid, *trials, judge);
    const auto all = judged<Row>(made.all_cells(), *trials, judge);
    write_reports(options, grid, rows, all, command);
  }
  report_failures(grid, *trials);
  return kExitOk;
}

void check_files(const EvaluateOptions& options) {
  CommandFiles files;
  files.reads("spec", options.spec);
  files.reads("--profile", options.profile);
  files.reads("--infer-profile", options.infer_profile);
  files.reads("--prior", options.prior);
  files.reads("--own-prior", options.own_prior);
  files.reads("--suspect", options.suspect);
  files.reads("--epochs", options.epochs);
  files.reads_board("--board", options.board);
  for (const std::string& policy : options.policy) {
    if (!names_shipped_script(policy)) files.reads("--policy", policy);
  }
  for (const std::string& requests : options.requests) {
    files.reads_named("--requests", requests, "trace:", '\0');
  }
  files.writes("--json", options.json);
  files.writes("--csv", options.csv);
  files.writes("--html", options.html);
  files.writes_no_stream("--results", results_path(options));
  files.check();
}

int evaluate(const EvaluateOptions& options, const std::string& command) {
  // Not after hours of work.
  for (const std::string* report : {&options.json, &options.csv, &options.html}) {
    if (!report->empty()) check_output(*report);
  }
  if (options.problem == "recurring") return evaluate_recurring(options);
  if (options.problem == "drift") return evaluate_drift(options);
  if (options.problem == "concurrent") return evaluate_concurrent(options, command);
  return evaluate_grid(options, command);
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
      "true cost. Stopped with Ctrl-C, the same command goes on where it was; a second Ctrl-C does "
      "not\n"
      "wait for the cases under way.\n"
      "Example: training under 10 to 50 W\n"
      "  gearshift evaluate --profile resnet_train.csv --caps 10:50:1 --json out.json --html "
      "out.html \\\n"
      "    --policy binary_search,maxn\n"
      "Example: inference, three seeds with noise, fewer modes\n"
      "  gearshift evaluate --profile resnet_infer.csv --problem infer --latency-ms 50:150:50 \\\n"
      "    --rate 30,60,90 --keep cpu_cores=4,8,12 --seeds 3 --effects jitter,lag,unapplied \\\n"
      "    --policy binary_search\n"
      "Example: policies that keep on learning, judged measurement by measurement\n"
      "  gearshift evaluate --problem online --profile resnet_train.csv --policy bayes "
      "\\\n"
      "    --weights 0,0.5,1 --measurements 500 --seeds 20 --json out.json\n"
      "Example: training beside inference on one accelerator, mode and batch size chosen together\n"
      "  gearshift evaluate --problem concurrent --profile resnet_train.csv --infer-profile "
      "mobnet_infer.csv \\\n"
      "    --caps 10:50:5 --latency-ms 500:2000:500 --rate 30:120:30 --policy bayes "
      "--probes 12\n"
      "Example: clocks that throttle, another workload, and a cap that falls while a choice is "
      "held\n"
      "  gearshift evaluate --problem drift --profile resnet_train.csv --profile "
      "mobilenet_train.csv \\\n"
      "    --caps 40,20 --policy bayes --seeds 5 --effects all\n"
      "Example: training jobs that recur, each run with a batch size and power limits of its own\n"
      "  gearshift evaluate --problem recurring --profile gpu.csv --epochs epochs.csv \\\n"
      "    --policy thompson --eta 0.5 --beta 2 --seeds 10 --json out.json");
  command->callback([command, options, &exit_code] {
    try {
      read_evaluate_spec(*command, *options);
      check_evaluate_options(*options);
      const bool grid = options->problem != "recurring" && options->problem != "drift";
      if (grid) make_problems(*options);
      check_files(*options);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gearshift evaluate: %s\n", error.what());
      exit_code = kExitUsage;
      return;
    }
    try {
      exit_code = evaluate(*options, command_text(*command));
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

#include "cli/evaluate_run.h"

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "cli/evaluate_progress.h"
#include "cli/read_script.h"
#include "cli/tell.h"
#include "cli/written_output.h"
#include "controller/printable_text.h"
#include "evaluation/grid_run.h"
#include "evaluation/script_failures.h"
#include "policies/lua/lua_policy.h"

namespace gearshift {
namespace {

unsigned threads_of(const EvaluateOptions& options) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (options.threads > 0) return options.threads;
  return online > 0 ? static_cast<unsigned>(online) : 1;
}

void tell_duration(std::size_t rows, const EvaluateProgress& progress, unsigned threads) {
  std::fprintf(stderr, "%zu rows in %.1f s on %u threads\n", rows, progress.seconds_elapsed(),
               threads);
}

// The weights are told row by row.
std::string objective_text(const EvaluateOptions& options) {
  if (options.problem == "concurrent") return "most training beside inference";
  if (options.problem == "online") return "least weighted cost";
  if (options.objective == "throughput") return "most training";
  if (!options.objective.empty()) return "least " + options.objective;
  return options.problem == "infer" ? "least latency" : "least time";
}

// A file may be called anything, and terminals obey control characters.
std::string shown(std::string name) {
  hide_unprintable(name);
  return name;
}

}  // namespace

std::string results_path(const EvaluateOptions& options) {
  if (!options.results.empty()) return options.results;
  for (const std::string* report : {&options.json, &options.csv, &options.html}) {
    std::error_code error;
    const auto status = std::filesystem::status(*report, error);
    const bool file = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
    if (!report->empty() && file && !is_standard_output(*report)) return *report + ".trials";
  }
  return "";
}

std::string this_program() {
  const auto* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  const auto written = std::filesystem::last_write_time(path, error);
  return fmt::format("{} {} {}", GEARSHIFT_VERSION, size, written.time_since_epoch().count());
}

std::string free_name(const std::vector<std::string>& taken, const std::string& name,
                      const std::string& detail) {
  const auto is_taken = [&](const std::string& one) {
    return std::find(taken.begin(), taken.end(), one) != taken.end();
  };
  if (!is_taken(name)) return name;
  std::string longer = fmt::format("{} ({})", name, detail);
  for (int i = 2; is_taken(longer); ++i) longer = fmt::format("{} ({}, {})", name, detail, i);
  return longer;
}

std::vector<Contestant> read_contestants(const std::vector<std::string>& paths) {
  std::vector<Contestant> contestants;
  std::vector<std::string> taken;
  for (const std::string& path : paths) {
    const NamedText script = read_script(path);
    LuaPolicy(shown(path), script.text).check();
    const std::string stem = std::filesystem::path(path).stem().string();
    taken.push_back(shown(free_name(taken, stem, path)));
    contestants.push_back({.name = taken.back(), .text = script.text, .script = script.name});
  }
  return contestants;
}

void tell_stopped(const EvaluateOptions& options, std::size_t finished, std::size_t rows) {
  const std::string path = results_path(options);
  std::fprintf(stderr, "gearshift evaluate: stopped after %zu of %zu rows; %s\n", finished, rows,
               path.empty()
                   ? "give --results FILE to keep them the next time"
                   : (path + " has them, and the same command goes on from there").c_str());
}

std::optional<std::vector<Trial>> run_or_resume(const EvaluateOptions& options, const Grid& grid,
                                                const RunCase& run_case) {
  std::optional<TrialFile> file;
  const std::string path = results_path(options);
  if (!path.empty()) file.emplace(path);
  EvaluateProgress progress(true);
  const unsigned threads = threads_of(options);
  auto trials = run_grid(grid, run_case, file ? &*file : nullptr, progress, threads);
  progress.end();
  const auto finished = static_cast<std::size_t>(
      std::count_if(trials.begin(), trials.end(), [](const auto& one) { return one.has_value(); }));
  if (finished < trials.size()) {
    tell_stopped(options, finished, trials.size());
    return std::nullopt;
  }
  tell_duration(trials.size(), progress, threads);
  std::vector<Trial> all;
  for (auto& trial : trials) all.push_back(std::move(*trial));
  return all;
}

void run_rows(const EvaluateOptions& options, std::size_t count,
              const std::function<void(std::size_t)>& run) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  EvaluateProgress progress(false);
  const unsigned threads = threads_of(options);
  std::size_t done = 0;
  const auto ended = [&](const std::vector<std::size_t>& now) {
    done += now.size();
    progress.progress(done, 0, count);
    return true;
  };
  run_cases(numbers, run, ended, threads);
  progress.end();
  tell_duration(count, progress, threads);
}

Provenance provenance_of(const EvaluateOptions& options, const std::string& command) {
  return {.command = command,
          .version = "gearshift " GEARSHIFT_VERSION,
          .date = fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(std::time(nullptr))),
          .conditions =
              fmt::format("{}; effects: {}; missing cells: {}; {}", objective_text(options),
                          effects_of(options), options.missing,
                          options.problem == "online"
                              ? fmt::format("{} measurements a policy", options.measurements)
                              : fmt::format("at most {} measurements a search", options.probes))};
}

void report_failures(const std::vector<ScriptEnd>& ends) {
  for (std::size_t first = 0, next = 0; first < ends.size(); first = next) {
    ScriptFailures failures;
    for (; next < ends.size() && ends[next].policy == ends[first].policy; ++next) {
      failures.add(ends[next].failure);
    }
    if (failures.failed == 0) continue;
    tell(stderr, "gearshift evaluate: {}; the first time:\n{}\n",
         failures.count_text(ends[first].policy), failures.first);
  }
}

void report_failures(const Grid& grid, const std::vector<Trial>& trials) {
  std::vector<ScriptEnd> ends;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    ends.push_back({grid.policies[grid.at(i).policy].name, trials[i].failure});
  }
  report_failures(ends);
}

}  // namespace gearshift

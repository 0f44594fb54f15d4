#include "cli/evaluate_run.h"

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "cli/evaluate_progress.h"
#include "cli/read_script.h"
#include "policies/lua/lua_policy.h"

namespace gearshift {
namespace {

std::string results_path(const EvaluateOptions& options) {
  if (!options.results.empty()) return options.results;
  for (const std::string* report : {&options.json, &options.csv, &options.html}) {
    std::error_code error;
    const auto status = std::filesystem::status(*report, error);
    const bool file = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
    if (!report->empty() && file) return *report + ".trials";
  }
  return "";
}

unsigned cores() {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<unsigned>(online) : 1;
}

// The weights are told row by row.
std::string objective_text(const EvaluateOptions& options) {
  if (options.problem == "concurrent") return "most training beside inference";
  if (options.problem == "online") return "least weighted cost";
  if (!options.objective.empty()) return "least " + options.objective;
  return options.problem == "infer" ? "least latency" : "least time";
}

}  // namespace

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
    LuaPolicy(script.name, script.text).check();
    const std::string stem = std::filesystem::path(path).stem().string();
    taken.push_back(free_name(taken, stem, path));
    contestants.push_back({.name = taken.back(),
                           .text = script.text,
                           .script = std::filesystem::path(script.name).filename().string()});
  }
  return contestants;
}

std::optional<std::vector<Trial>> run_or_resume(const EvaluateOptions& options, const Grid& grid,
                                                const RunCase& run_case) {
  std::optional<TrialFile> file;
  const std::string path = results_path(options);
  if (!path.empty()) file.emplace(path);
  EvaluateProgress progress;
  const unsigned threads = options.threads > 0 ? options.threads : cores();
  auto trials = run_grid(grid, run_case, file ? &*file : nullptr, progress, threads);
  progress.end();
  const auto finished = static_cast<std::size_t>(
      std::count_if(trials.begin(), trials.end(), [](const auto& one) { return one.has_value(); }));
  if (finished < trials.size()) {
    std::fprintf(
        stderr, "gearshift evaluate: stopped after %zu of %zu rows; %s\n", finished, trials.size(),
        path.empty() ? "give --results FILE to keep them the next time"
                     : (path + " has them, and the same command goes on from there").c_str());
    return std::nullopt;
  }
  std::fprintf(stderr, "%zu rows in %.1f s on %u threads\n", trials.size(),
               progress.seconds_elapsed(), threads);
  std::vector<Trial> all;
  for (auto& trial : trials) all.push_back(std::move(*trial));
  return all;
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

void report_failures(const Grid& grid, const std::vector<Trial>& trials) {
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    std::size_t failed = 0;
    std::string first;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (grid.at(i).policy != policy || trials[i].failure.empty()) continue;
      if (failed++ == 0) first = trials[i].failure;
    }
    if (failed == 0) continue;
    fmt::print(stderr, "gearshift evaluate: {} failed in {} of {} rows; the first time:\n{}\n",
               grid.policies[policy].name, failed, trials.size() / grid.policies.size(), first);
  }
}

}  // namespace gearshift

#include "cli/evaluate_options.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

#include "boards/toml_parse.h"
#include "cli/toml_text.h"
#include "evaluation/recurring_job.h"

namespace gearshift {
namespace {

// At every comma, as the flag does it.
std::vector<std::string> split(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    std::istringstream rest(text);
    for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  }
  return parts;
}

std::uint32_t count_of(const std::string& file, std::string_view key, const toml::node& node,
                       std::uint32_t most) {
  const auto count = node.value<std::int64_t>();
  if (!count || !node.is_integer() || *count < 1 || *count > most) {
    fail_at(file, node, fmt::format("{} must be an integer from 1 to {}", key, most));
  }
  return static_cast<std::uint32_t>(*count);
}

constexpr std::uint32_t kMostMeasurements = 100'000;
constexpr std::uint32_t kMostProbes = 100'000;
constexpr std::uint32_t kMostMinutes = 1440;
constexpr std::uint32_t kMostSeeds = 10'000;
constexpr std::uint32_t kMostThreads = 256;

// Where the value of a key goes.
struct Fields {
  std::map<std::string_view, std::string*> texts;
  std::map<std::string_view, std::vector<std::string>*> lists;
  std::map<std::string_view, std::pair<std::uint32_t*, std::uint32_t>> counts;  // and the most
  std::map<std::string_view, double*> numbers;

  explicit Fields(EvaluateOptions& o)
      : texts{{"problem", &o.problem},
              {"caps", &o.caps},
              {"latency-ms", &o.latency_ms},
              {"rate", &o.rate},
              {"json", &o.json},
              {"effects", &o.effects},
              {"missing", &o.missing},
              {"board", &o.board},
              {"model", &o.model},
              {"csv", &o.csv},
              {"html", &o.html},
              {"results", &o.results},
              {"epochs", &o.epochs},
              {"switch-ms", &o.switch_ms},
              {"energy-weight", &o.weights},
              {"weights", &o.weights},
              {"objective", &o.objective},
              {"energy-per-sample", &o.energy_per_sample}},
        lists{{"profile", &o.profile},
              {"prior", &o.prior},
              {"own-prior", &o.own_prior},
              {"suspect", &o.suspect},
              {"infer-profile", &o.infer_profile},
              {"requests", &o.requests},
              {"policy", &o.policy},
              {"keep", &o.keep},
              {"job", &o.job}},
        counts{{"minutes", {&o.minutes, kMostMinutes}},
               {"probes", {&o.probes, kMostProbes}},
               {"measurements", {&o.measurements, kMostMeasurements}},
               {"seeds", {&o.seeds, kMostSeeds}},
               {"threads", {&o.threads, kMostThreads}}},
        numbers{{"eta", &o.eta}, {"beta", &o.beta}} {}
};

void add_grid_flags(CLI::App& command, EvaluateOptions& options) {
  command.add_option("spec", options.spec, "TOML file with any of these flags, without --");
  command.add_option("--profile", options.profile,
                     "measured table of the workloads to judge on (may be given again)");
  command.add_option(
      "--infer-profile", options.infer_profile,
      "of concurrent: measured table of what runs beside --profile (may be given again)");
  command.add_option("--prior", options.prior,
                     "measured table that policies may read, where it is not of the workload "
                     "that they are judged on (may be given again)");
  command.add_option("--own-prior", options.own_prior,
                     "measured table of a workload that policies are judged on, for example of "
                     "another day, that they may read too (may be given again)");
  command.add_option("--suspect", options.suspect,
                     "list of measured cells that do not fit their neighbours: policies meet them, "
                     "but none is the optimum (may be given again)");
  command
      .add_option("--policy", options.policy, "Lua scripts to compare, with commas between them")
      ->delimiter(',');
  command
      .add_option("--problem", options.problem,
                  "train, infer, concurrent, online, drift or recurring")
      ->capture_default_str();
  command.add_option(
      "--caps", options.caps,
      "power limits, W: FROM:TO:STEP, A,B,C or none (default: 10:50:1; of online: none)");
  command.add_option("--objective", options.objective,
                     "what is best: least time, energy, latency or weighted cost (default: time "
                     "for train, latency for infer); online is weighted, recurring is target");
  command
      .add_option("--weights,--energy-weight", options.weights,
                  "of weighted and online: what energy counts beside time, 0 to 1: A,B,C or "
                  "FROM:TO:STEP")
      ->capture_default_str();
  command.add_option("--energy-per-sample", options.energy_per_sample,
                     "most energy of a sample, for example 2J");
  command
      .add_option("--measurements", options.measurements, "how many a policy of online may make")
      ->check(CLI::Range(1U, kMostMeasurements))
      ->capture_default_str();
  command.add_option("--latency-ms", options.latency_ms,
                     "latency limits of infer and concurrent, the same forms");
  command.add_option("--rate", options.rate,
                     "requests a second of infer and concurrent, the same forms");
  command
      .add_option("--requests", options.requests,
                  "of concurrent: hold each choice beside requests that come one by one, poisson "
                  "or trace:FILE at the problem's rate, with commas between them")
      ->delimiter(',');
  command.add_option("--minutes", options.minutes, "virtual minutes of each --requests")
      ->check(CLI::Range(1U, kMostMinutes))
      ->capture_default_str();
  command.add_option("--switch-ms", options.switch_ms,
                     "of concurrent: what clocks of their own for training and inference would "
                     "gain where a change of them takes so many milliseconds, the same forms");
  command.add_option("--epochs", options.epochs,
                     "recorded runs of recurring jobs: epochs to a target metric");
  command.add_option("--job", options.job,
                     "WORKLOAD,TARGET,BATCH,MOST_EPOCHS of recurring (may be given again; default: "
                     "the published terms, or what the recorded runs reach)");
  command.add_option("--eta", options.eta, "what energy counts beside time in recurring, 0 to 1")
      ->capture_default_str();
  command
      .add_option("--beta", options.beta,
                  "a recurring job's run that costs so many times the cheapest is stopped")
      ->capture_default_str();
  command.add_option("--keep", options.keep,
                     "KNOB=A,B,C: only these values of the knob; given again, those that all have");
}

}  // namespace

void add_evaluate_flags(CLI::App& command, EvaluateOptions& options) {
  add_grid_flags(command, options);
  command.add_option("--probes", options.probes, "most measurements of a search; the best is held")
      ->check(CLI::Range(1U, kMostProbes))
      ->capture_default_str();
  command.add_option("--seeds", options.seeds, "runs of every case, with seeds 1, 2, ...")
      ->check(CLI::Range(1U, kMostSeeds))
      ->capture_default_str();
  command.add_option("--effects", options.effects,
                     "none, all, or some of jitter,first,lag,slow-lag,noise,quantised,unapplied,"
                     "hotplug,stalls (default: none; of online: jitter,noise)");
  command
      .add_option("--missing", options.missing,
                  "a setting without a cell: refuse it, or take the nearest or the model")
      ->capture_default_str();
  command.add_option("--board", options.board,
                     "board whose model fills gaps, a built-in id or a board file");
  command.add_option("--model", options.model,
                     "workload of the --board's model that fills gaps (default: of that name)");
  command.add_option("--threads", options.threads, "cases at a time (default: one a core)")
      ->check(CLI::Range(1U, kMostThreads));
  command.add_option(
      "--json", options.json,
      "file for rows and summary; - is standard output, here and below, and the table then goes to "
      "standard error");
  command.add_option("--csv", options.csv, "file for rows");
  command.add_option("--html", options.html, "file for tables and pictures, one page");
  command.add_option("--results", options.results,
                     "file of what was run, from which a stopped evaluation goes on "
                     "(default: beside the first of the files above)");
}

void read_evaluate_spec(const CLI::App& command, EvaluateOptions& options) {
  if (options.spec.empty()) return;
  apply_evaluate_spec(read_toml_file(options.spec, "it must be a TOML file"), command, options);
}

void apply_evaluate_spec(std::string_view text, const CLI::App& command, EvaluateOptions& options) {
  const std::string& file = options.spec;
  const toml::table table = parse_toml(text, file);
  const Fields fields(options);
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    const bool said = !name.empty() && command.get_option_no_throw("--" + name) != nullptr &&
                      command.count("--" + name) > 0;  // a flag says otherwise
    if (const auto one = fields.texts.find(name); one != fields.texts.end()) {
      const std::string read = text_at(file, name, value);
      if (!said) *one->second = read;
    } else if (const auto list = fields.lists.find(name); list != fields.lists.end()) {
      std::vector<std::string> read = texts_at(file, name, value);
      if (name == "policy" || name == "requests") read = split(read);
      if (!said) *list->second = std::move(read);
    } else if (const auto count = fields.counts.find(name); count != fields.counts.end()) {
      const std::uint32_t read = count_of(file, name, value, count->second.second);
      if (!said) *count->second.first = read;
    } else if (const auto number = fields.numbers.find(name); number != fields.numbers.end()) {
      const auto read = value.value<double>();
      if (!read || !value.is_number()) {
        fail_at(file, value, fmt::format("{} must be a number", name));
      }
      if (!said) *number->second = *read;
    } else {
      fail_at(file, value,
              fmt::format("unknown key {}; known: the long flags of gearshift evaluate without --",
                          name));
    }
  }
}

namespace {

void check_recurring_options(const EvaluateOptions& options) {
  if (!options.objective.empty() && options.objective != "target") {
    throw std::runtime_error(fmt::format(
        "--objective {}: --problem recurring has target alone, with --eta for its weight",
        options.objective));
  }
  if (options.epochs.empty()) {
    throw std::runtime_error(
        "--epochs is missing; --problem recurring needs the CSV file of recorded runs");
  }
  if (!(options.eta >= 0 && options.eta <= 1)) {
    throw std::runtime_error(fmt::format("--eta {}: must be from 0 to 1", options.eta));
  }
  if (!(options.beta >= 1 && options.beta <= 1e6)) {
    throw std::runtime_error(fmt::format("--beta {}: must be from 1 to 1e6", options.beta));
  }
  for (const std::string& text : options.job) parse_job_terms(text);
}

void check_concurrent_options(const EvaluateOptions& options) {
  if (options.infer_profile.empty()) {
    throw std::runtime_error(
        "--problem concurrent needs --infer-profile, the measured table of the inference "
        "workload");
  }
  if (!options.switch_ms.empty()) parse_numbers("--switch-ms", options.switch_ms);
}

void check_drift_options(const EvaluateOptions& options) {
  const bool any = !options.caps.empty() && options.caps != "none";
  if (!any || parse_numbers("--caps", options.caps).size() > 2) {
    throw std::runtime_error(
        "--caps: --problem drift takes the cap, and the one it falls to: --caps 40,20");
  }
  if (options.profile.size() > 2) {
    throw std::runtime_error(
        "--profile: --problem drift takes the workload, and the one that it becomes");
  }
}

using Names = std::vector<std::string_view>;

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A flag of some problems. It counts as given where its value is not the default.
struct FlagUse {
  const char* flag;
  bool given;
  Names problems;
};

std::vector<FlagUse> flag_uses(const EvaluateOptions& options) {
  const Names grids = {"train", "infer", "concurrent", "online"};
  const Names profiled = {"train", "infer", "concurrent", "online", "drift"};
  const Names filled = {"train", "infer", "online", "drift"};
  EvaluateOptions usual;
  usual.problem = options.problem;
  return {{"--infer-profile", !options.infer_profile.empty(), {"concurrent"}},
          {"--requests", !options.requests.empty(), {"concurrent"}},
          {"--minutes", options.minutes != usual.minutes, {"concurrent"}},
          {"--switch-ms", !options.switch_ms.empty(), {"concurrent"}},
          {"--latency-ms", !options.latency_ms.empty(), {"infer", "concurrent"}},
          {"--rate", !options.rate.empty(), {"infer", "concurrent"}},
          {"--objective", !options.objective.empty(), {"train", "infer", "online", "recurring"}},
          {"--energy-per-sample", !options.energy_per_sample.empty(), grids},
          {"--weights", options.weights != usual.weights, {"train", "infer", "online"}},
          {"--measurements", options.measurements != usual.measurements, {"online"}},
          {"--epochs", !options.epochs.empty(), {"recurring"}},
          {"--job", !options.job.empty(), {"recurring"}},
          {"--eta", options.eta != usual.eta, {"recurring"}},
          {"--beta", options.beta != usual.beta, {"recurring"}},
          {"--suspect", !options.suspect.empty(), grids},
          {"--own-prior", !options.own_prior.empty(), grids},
          {"--prior", !options.prior.empty(), profiled},
          {"--caps", !options.caps.empty(), profiled},
          {"--keep", !options.keep.empty(), profiled},
          {"--probes", options.probes != usual.probes, profiled},
          {"--effects", effects_of(options) != effects_of(usual), profiled},
          {"--missing", options.missing != usual.missing, filled},
          {"--board", !options.board.empty(), filled},
          {"--model", !options.model.empty(), filled},
          {"--csv", !options.csv.empty(), grids},
          {"--html", !options.html.empty(), grids},
          {"--results", !options.results.empty(), grids}};
}

// Nothing that was asked for is dropped silently.
void check_unused_options(const EvaluateOptions& options) {
  for (const FlagUse& use : flag_uses(options)) {
    if (!use.given || contains(use.problems, options.problem)) continue;
    throw std::runtime_error(fmt::format("{} is not for --problem {}, but for {}; leave it out",
                                         use.flag, options.problem, fmt::join(use.problems, ", ")));
  }
  const bool weighs = options.problem == "online" || options.objective == "weighted";
  if (!weighs && options.weights != EvaluateOptions{}.weights) {
    throw std::runtime_error("--weights belongs to --objective weighted and to --problem online");
  }
}

}  // namespace

void check_evaluate_options(const EvaluateOptions& options) {
  const Names problems = {"train", "infer", "concurrent", "online", "drift", "recurring"};
  if (!contains(problems, options.problem)) {
    throw std::runtime_error(
        fmt::format("--problem '{}': allowed are {}", options.problem, fmt::join(problems, ", ")));
  }
  check_unused_options(options);
  if (options.problem == "recurring") check_recurring_options(options);
  if (options.problem == "concurrent") check_concurrent_options(options);
  if (options.problem == "drift") check_drift_options(options);
  if (options.profile.empty()) {
    throw std::runtime_error("--profile is missing; give the CSV file of a measured workload");
  }
  const std::string& missing = options.missing;
  if (missing != "refuse" && missing != "nearest" && missing != "model") {
    throw std::runtime_error(
        fmt::format("--missing '{}': allowed are refuse, nearest and model", missing));
  }
  if (missing == "model" && options.board.empty()) {
    throw std::runtime_error("--missing model: give --board, whose model fills the gaps");
  }
  if (missing != "model" && !(options.board.empty() && options.model.empty())) {
    throw std::runtime_error(fmt::format("{} belongs to --missing model; leave it out",
                                         options.board.empty() ? "--model" : "--board"));
  }
  if (options.policy.empty()) {
    throw std::runtime_error("--policy is missing; for example --policy binary_search");
  }
}

}  // namespace gearshift

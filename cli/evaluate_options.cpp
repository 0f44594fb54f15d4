#include "cli/evaluate_options.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

#include "boards/toml_parse.h"
#include "cli/goal_flags.h"
#include "cli/toml_text.h"
#include "evaluation/recurring_job.h"

namespace gearshift {
namespace {

constexpr std::size_t kMostNumbers = 10'000;
constexpr std::size_t kMostProblems = 1'000'000;

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
              {"energy-weight", &o.weights},
              {"weights", &o.weights},
              {"objective", &o.objective},
              {"energy-per-sample", &o.energy_per_sample}},
        lists{{"profile", &o.profile}, {"prior", &o.prior}, {"suspect", &o.suspect},
              {"policy", &o.policy},   {"keep", &o.keep},   {"job", &o.job}},
        counts{{"probes", {&o.probes, kMostProbes}},
               {"measurements", {&o.measurements, kMostMeasurements}},
               {"seeds", {&o.seeds, kMostSeeds}},
               {"threads", {&o.threads, kMostThreads}}},
        numbers{{"eta", &o.eta}, {"beta", &o.beta}} {}
};

void add_grid_flags(CLI::App& command, EvaluateOptions& options) {
  command.add_option("spec", options.spec, "TOML file with any of these flags, without --");
  command.add_option("--profile", options.profile,
                     "measured table of the workloads to judge on (may be given again)");
  command.add_option("--prior", options.prior,
                     "measured table that policies may read (may be given again)");
  command.add_option("--suspect", options.suspect,
                     "list of measured cells that do not fit their neighbours: policies meet them, "
                     "but none is the optimum (may be given again)");
  command
      .add_option("--policy", options.policy, "Lua scripts to compare, with commas between them")
      ->delimiter(',');
  command.add_option("--problem", options.problem, "train, infer, online, drift or recurring")
      ->capture_default_str();
  command.add_option(
      "--caps", options.caps,
      "power limits, W: FROM:TO:STEP, A,B,C or none (default: 10:50:1; of online: none)");
  command.add_option("--objective", options.objective,
                     "what is least: time, energy, latency or weighted (default: time for train, "
                     "latency for infer); online is weighted, recurring is target");
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
  command.add_option("--latency-ms", options.latency_ms, "latency limits of infer, the same forms");
  command.add_option("--rate", options.rate, "requests a second of infer, the same forms");
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
                     "KNOB=A,B,C: the knob has only these values (may be given again)");
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
                     "hotplug (default: none; of online: jitter,noise)");
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
  command.add_option("--json", options.json, "file for rows and summary");
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
      if (name == "policy") read = split(read);
      if (!said) *list->second = std::move(read);
    } else if (const auto count = fields.counts.find(name); count != fields.counts.end()) {
      const std::uint32_t read = count_of(file, name, value, count->second.second);
      if (!said) *count->second.first = read;
    } else if (const auto number = fields.numbers.find(name); number != fields.numbers.end()) {
      const auto read = value.value<double>();
      if (!read) fail_at(file, value, fmt::format("{} must be a number", name));
      if (!said) *number->second = *read;
    } else {
      fail_at(file, value,
              fmt::format("unknown key {}; known: the long flags of gearshift evaluate without --",
                          name));
    }
  }
}

std::string effects_of(const EvaluateOptions& options) {
  if (!options.effects.empty()) return options.effects;
  return options.problem == "online" ? "jitter,noise" : "none";
}

namespace {

// As parse_numbers, from `least` on.
std::vector<double> parse_numbers_from(double least, const std::string& option,
                                       const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(
        fmt::format("{} '{}': {}; give FROM:TO:STEP, A,B,C or one number, for example 10:50:1",
                    option, text, why));
  };
  const char separator = text.find(':') != std::string::npos ? ':' : ',';
  std::vector<double> numbers;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (true) {
    double number = 0;
    const auto [rest, error] = std::from_chars(at, end, number, std::chars_format::fixed);
    if (error != std::errc() || !(number >= least) || number > 1e9) {
      refuse(fmt::format("'{}' is no number from {} on", std::string_view(at, end), least));
    }
    numbers.push_back(number);
    if (numbers.size() > kMostNumbers) refuse("more than 10,000 numbers");
    if (rest == end) break;
    if (*rest != separator) refuse(fmt::format("'{}' is too much", std::string_view(rest, end)));
    at = rest + 1;
  }
  if (separator == ',') return numbers;
  if (numbers.size() != 3) refuse("a range has three numbers");
  const double steps = std::floor((numbers[1] - numbers[0]) / numbers[2] + 1e-9);
  if (steps < 0) refuse("it ends before it begins");
  if (steps >= static_cast<double>(kMostNumbers)) refuse("more than 10,000 numbers");
  std::vector<double> range;
  for (int i = 0; i <= static_cast<int>(steps); ++i) {
    // Decimal steps do not add up in binary: 0.1 three times is not 0.3.
    range.push_back(std::round((numbers[0] + i * numbers[2]) * 1e6) / 1e6);
  }
  return range;
}

Goal goal_of(const EvaluateOptions& options) {
  GoalFlags flags;
  flags.objective = options.objective;
  flags.energy_per_sample = options.energy_per_sample;
  const char* usual = options.problem == "online"  ? "weighted"
                      : options.problem == "infer" ? "latency"
                                                   : "time";
  if (flags.objective.empty()) flags.objective = usual;
  Goal goal;
  try {
    goal = make_goal(flags);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(error.what());
  }
  const bool fits = options.problem == "online"            ? goal.objective == Objective::weighted
                    : goal.objective == Objective::latency ? options.problem == "infer"
                                                           : goal.objective != Objective::target;
  if (!fits) {
    throw std::runtime_error(fmt::format(
        "--objective {}: latency is of --problem infer, target of recurring, and online "
        "has weighted alone",
        flags.objective));
  }
  return goal;
}

// A goal of each weight under each cap; caps change slowest. Limits of latency are left out.
std::vector<Goal> make_goals(const EvaluateOptions& options) {
  std::vector<std::optional<std::int64_t>> caps_mw;
  const bool online = options.problem == "online";
  const std::string caps = options.caps.empty() && !online ? "10:50:1" : options.caps;
  if (caps.empty() || caps == "none") {
    caps_mw = {std::nullopt};
  } else {
    for (const double cap_w : parse_numbers("--caps", caps)) {
      caps_mw.push_back(std::llround(1e3 * cap_w));
    }
  }
  Goal goal = goal_of(options);
  std::vector<double> weights = {goal.energy_weight};
  if (goal.weighs()) weights = parse_numbers_from(0, "--energy-weight", options.weights);
  if (caps_mw.size() * weights.size() > kMostProblems) {
    throw std::runtime_error(fmt::format("--caps and --energy-weight make {} problems; at most {}",
                                         caps_mw.size() * weights.size(), kMostProblems));
  }
  std::vector<Goal> goals;
  for (const auto& cap_mw : caps_mw) {
    for (const double weight : weights) {
      if (weight > 1) {
        throw std::runtime_error(fmt::format("--energy-weight {}: must be from 0 to 1", weight));
      }
      goal.power_mw = cap_mw;
      goal.energy_weight = weight;
      goals.push_back(goal);
    }
  }
  return goals;
}

}  // namespace

std::vector<double> parse_numbers(const std::string& option, const std::string& text) {
  return parse_numbers_from(1e-3, option, text);
}

std::vector<Problem> make_problems(const EvaluateOptions& options) {
  const bool infer = options.problem == "infer";
  if (!infer && options.problem != "train" && options.problem != "online") {
    throw std::runtime_error(fmt::format(
        "--problem '{}': allowed are train, infer, online, drift and recurring", options.problem));
  }
  if (!infer && (!options.latency_ms.empty() || !options.rate.empty())) {
    throw std::runtime_error("--latency-ms and --rate belong to --problem infer");
  }
  if (infer && (options.latency_ms.empty() || options.rate.empty())) {
    throw std::runtime_error(
        "--problem infer needs --latency-ms and --rate, for example --latency-ms 50:150:10 --rate "
        "30:90:5");
  }
  const std::vector<Goal> goals = make_goals(options);
  std::vector<Problem> problems;
  if (!infer) {
    for (const Goal& goal : goals) problems.push_back({.kind = Kind::train, .goal = goal});
    return problems;
  }
  const std::vector<double> latencies_ms = parse_numbers("--latency-ms", options.latency_ms);
  const std::vector<double> rates = parse_numbers("--rate", options.rate);
  const std::size_t count = goals.size() * latencies_ms.size() * rates.size();
  if (count > kMostProblems) {
    throw std::runtime_error(fmt::format(
        "--caps, --latency-ms and --rate make {} problems; at most {}", count, kMostProblems));
  }
  for (Goal goal : goals) {
    for (const double latency_ms : latencies_ms) {
      for (const double rate : rates) {
        goal.latency = Duration(std::llround(1e6 * latency_ms));
        goal.arrivals_per_s = rate;
        problems.push_back({.kind = Kind::infer, .goal = goal});
      }
    }
  }
  return problems;
}

namespace {

void check_recurring_options(const EvaluateOptions& options) {
  if (options.problem != "recurring") {
    if (!options.epochs.empty() || !options.job.empty()) {
      throw std::runtime_error("--epochs and --job belong to --problem recurring");
    }
    return;
  }
  if (!options.objective.empty() && options.objective != "target") {
    throw std::runtime_error(fmt::format(
        "--objective {}: --problem recurring has target alone, with --eta for its weight",
        options.objective));
  }
  if (!options.energy_per_sample.empty()) {
    throw std::runtime_error("--energy-per-sample is not for --problem recurring");
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
  if (!options.csv.empty() || !options.html.empty() || !options.keep.empty()) {
    throw std::runtime_error("--csv, --html and --keep are not for --problem recurring");
  }
  for (const std::string& text : options.job) parse_job_terms(text);
}

}  // namespace

void check_evaluate_options(const EvaluateOptions& options) {
  check_recurring_options(options);
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
  if (!options.suspect.empty() && (options.problem == "recurring" || options.problem == "drift")) {
    throw std::runtime_error("--suspect is not for --problem " + options.problem);
  }
  if (options.policy.empty()) {
    throw std::runtime_error("--policy is missing; for example --policy scripts/binary_search.lua");
  }
}

}  // namespace gearshift

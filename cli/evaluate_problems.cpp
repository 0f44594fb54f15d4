// The problems of an evaluation: every combination of the limits that its options give.
#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "cli/evaluate_options.h"
#include "cli/goal_flags.h"

namespace gearshift {
namespace {

constexpr std::size_t kMostNumbers = 10'000;
constexpr std::size_t kMostProblems = 1'000'000;

}  // namespace

std::string effects_of(const EvaluateOptions& options) {
  if (!options.effects.empty()) return options.effects;
  return options.problem == "online" ? "jitter,noise" : "none";
}

namespace {

// As parse_numbers, from `least` on.
std::vector<double> parse_numbers_from(double least, const std::string& option,
                                       const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(
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
  if (!(numbers[2] > 0)) refuse("a range has a step above 0");
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
  const bool elsewhere =
      goal.objective == Objective::target || goal.objective == Objective::throughput;
  const bool fits = options.problem == "online"            ? goal.objective == Objective::weighted
                    : goal.objective == Objective::latency ? options.problem == "infer"
                                                           : !elsewhere;
  if (!fits) {
    throw std::runtime_error(fmt::format(
        "--objective {}: latency is of --problem infer, target of recurring, throughput of "
        "concurrent, and online has weighted alone",
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
  const bool concurrent = options.problem == "concurrent";
  const bool infer = options.problem == "infer" || concurrent;
  if (infer && (options.latency_ms.empty() || options.rate.empty())) {
    throw std::runtime_error(
        fmt::format("--problem {} needs --latency-ms and --rate, for example --latency-ms {} "
                    "--rate 30:90:5",
                    options.problem, concurrent ? "500:2000:100" : "50:150:10"));
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
        if (concurrent) goal.objective = Objective::throughput;
        problems.push_back({.kind = Kind::infer, .goal = goal});
      }
    }
  }
  return problems;
}

}  // namespace gearshift

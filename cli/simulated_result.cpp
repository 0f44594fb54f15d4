#include "cli/simulated_result.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "cli/goal_flags.h"
#include "cli/json_recorder.h"
#include "cli/note_text.h"
#include "cli/request_text.h"
#include "simulator/exhaustive_optimum.h"
#include "simulator/interleaved_optimum.h"

namespace gearshift {
namespace {

using nlohmann::json;

// The choice on its true cost, and what it is compared with.
struct Verdict {
  std::optional<TrueCost> chosen;
  std::optional<double> value;  // nullopt: a limit is broken by the true cost
  std::optional<ExhaustiveOptimum> optimum;

  std::optional<double> excess() const {
    // Without a reference a weighted cost is infinite, that of the optimum too.
    if (!value || !optimum || !std::isfinite(*value)) return std::nullopt;
    return *value / optimum->value - 1;
  }
};

Verdict judge(const SimulationProblem& problem, const SimulationResult& result) {
  const SimulatedTask& task = problem.tasks.front();
  Verdict verdict;
  verdict.optimum = exhaustive_optimum(problem, result.reference);
  if (result.ending == Ending::held) verdict.chosen = result.cost[index(task.kind)];
  if (!verdict.chosen) return verdict;
  const std::int32_t batch_size = result.setting.batch_size[index(task.kind)];
  const Goal goal = judging_goal(problem, result.reference);
  verdict.chosen = with_pauses(goal, task, result.setting.mode, batch_size, *verdict.chosen);
  verdict.value = judged(goal, task.kind, batch_size, *verdict.chosen);
  return verdict;
}

// The same of training beside inference.
struct PairVerdict {
  Beside how = Beside::windows;
  std::optional<BesideCost> chosen;  // nullopt: there is no choice, or it breaks a limit
  std::optional<InterleavedOptimum> optimum;

  std::optional<double> loss() const {
    if (!chosen || !optimum) return std::nullopt;
    const double best = optimum->cost.minibatches_per_s;
    return best > 0 ? std::max(0.0, 1 - chosen->minibatches_per_s / best) : 0;
  }
};

bool is_pair(const SimulationProblem& problem) { return problem.tasks.size() == 2; }

PairVerdict judge_pair(const SimulationProblem& problem, const SimulationResult& result) {
  PairVerdict verdict;
  verdict.how = result.requests ? Beside::requests : Beside::windows;
  verdict.optimum = interleaved_optimum(problem, problem.goal, verdict.how, Time{});
  if (result.ending != Ending::held || result.setting.run != Run::both) return verdict;
  verdict.chosen = beside(problem, problem.goal, verdict.how, result.setting.mode,
                          result.setting.batch_size[index(Kind::infer)], Time{} + result.duration);
  return verdict;
}

json value_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

json cost_json(const KnobSpace& knobs, const Setting& setting, const TrueCost& cost) {
  return {{"setting", to_json(knobs, setting)},
          {"minibatch_ms", cost.minibatch_ms},
          {"power_w", cost.power_w}};
}

json pair_json(const KnobSpace& knobs, const Setting& setting, const BesideCost& cost) {
  return {{"setting", to_json(knobs, setting)},
          {"train_minibatch_ms", cost.train.minibatch_ms},
          {"infer_minibatch_ms", cost.infer.minibatch_ms},
          {"power_w", cost.power_w},
          {"minibatches_per_s", cost.minibatches_per_s}};
}

void add_pair_choice(const SimulationProblem& problem, const SimulationResult& result, json& out) {
  const PairVerdict verdict = judge_pair(problem, result);
  out["solvable"] = verdict.optimum.has_value();
  out["solved"] = verdict.chosen.has_value();
  out["loss"] = value_or_null(verdict.loss());
  out["chosen"] =
      verdict.chosen ? pair_json(problem.knobs, result.setting, *verdict.chosen) : json();
  out["optimum"] = verdict.optimum
                       ? pair_json(problem.knobs, verdict.optimum->setting, verdict.optimum->cost)
                       : json();
}

void add_choice(const SimulationProblem& problem, const SimulationResult& result, json& out) {
  const Verdict verdict = judge(problem, result);
  out["solvable"] = verdict.optimum.has_value();
  out["solved"] = verdict.value.has_value();
  out["value"] = value_or_null(verdict.value);
  out["excess"] = value_or_null(verdict.excess());
  out["chosen"] =
      verdict.chosen ? cost_json(problem.knobs, result.setting, *verdict.chosen) : json();
  out["optimum"] = json();
  if (!verdict.optimum) return;
  out["optimum"] = cost_json(problem.knobs, verdict.optimum->setting, verdict.optimum->cost);
  out["optimum"]["value"] = verdict.optimum->value;
}

// "resnet18", or "resnet18 + mobilenet_v3".
std::string workloads_text(const SimulationProblem& problem) {
  std::string text = problem.tasks.front().name;
  if (is_pair(problem)) text += " + " + problem.tasks.back().name;
  return text;
}

}  // namespace

json result_json(const SimulationProblem& problem, const SimulationResult& result) {
  const Goal& goal = problem.goal;
  json out = {{"board", problem.board},
              {"workload", workloads_text(problem)},
              {"problem", is_pair(problem) ? "concurrent" : kind_name(problem.tasks.front().kind)},
              {"seed", problem.seed},
              {"ending", ending_name(result.ending)},
              {"modes_profiled", result.measured.size()},
              {"measurements", result.measurements},
              {"probes_over_cap", result.measured_over_cap},
              {"filled_nearest", result.filled_nearest},
              {"filled_model", result.filled_model},
              {"refused", result.refused},
              {"not_applied", result.not_applied},
              {"search_s", seconds(result.search)},
              {"search_j", result.search_j},
              {"over_cap_j", result.energy.over_cap_j},
              {"over_cap_s", result.energy.over_cap_s},
              {"breaches", result.energy.breaches},
              {"longest_over_cap_s", result.energy.longest_over_cap_s},
              {"energy_j", result.energy.energy_j},
              {"duration_s", seconds(result.duration)},
              {"train_samples", result.samples[index(Kind::train)]},
              {"infer_samples", result.samples[index(Kind::infer)]},
              {"guard_steps", result.guard_steps},
              {"drifts", result.drifts},
              {"policy_errors", result.policy_errors}};
  const Goal judging = judging_goal(problem, result.reference);
  out.update(to_json(judging));
  out["cap_w"] = goal.power_mw ? json(static_cast<double>(*goal.power_mw) / 1000) : json();
  out["energy_limit_j"] = goal.energy_j ? json(*goal.energy_j) : json();
  out["latency_ms"] = goal.latency ? json(seconds(*goal.latency) * 1e3) : json();
  out["arrivals_per_s"] = goal.arrivals_per_s > 0 ? json(goal.arrivals_per_s) : json();
  out["held"] = to_json(problem.knobs, result.setting);
  out["held_s"] = result.observation ? json(seconds(result.held_for)) : json();
  out["observation"] =
      result.observation ? to_json(problem.knobs, *result.observation, judging) : json();
  if (is_pair(problem)) {
    add_pair_choice(problem, result, out);
  } else {
    add_choice(problem, result, out);
  }
  if (result.requests) out["requests"] = to_json(*result.requests);
  out["safe_why"] = result.safe_why.empty() ? json() : json(result.safe_why);
  if (!result.policy_error.empty()) out["policy_error"] = result.policy_error;
  return out;
}

namespace {

std::string objective_text(const SimulationProblem& problem, double value) {
  switch (problem.goal.objective) {
    case Objective::time:
      return fmt::format("{:.3f} ms a sample", 1e3 * value);
    case Objective::energy:
      return fmt::format("{:.3f} J a sample", value);
    case Objective::latency:
      return fmt::format("{:.1f} ms of latency{}", 1e3 * value,
                         problem.tasks.front().arrivals ? " in the mean" : "");
    case Objective::weighted:
      return fmt::format("{:.4f} of the reference's cost", value);
    case Objective::target:
      return fmt::format("{:.3f} J a sample, its time priced", value);
    case Objective::throughput:
      return fmt::format("{:.2f} training samples a second", 1 / value);
  }
  return {};
}

void print_cost(const char* what, const SimulationProblem& problem, const Setting& setting,
                const TrueCost& cost, const std::optional<double>& value) {
  fmt::print("  {:<9}{}: {:.1f} W, {:.1f} ms a minibatch{}\n", what,
             describe(problem.knobs, setting), cost.power_w, cost.minibatch_ms,
             value ? ", " + objective_text(problem, *value)
                   : std::string("; its true cost breaks a limit"));
}

void print_no_choice(const SimulationProblem& problem, const SimulationResult& result) {
  if (result.ending != Ending::held) {
    fmt::print("  {} {}\n",
               result.ending == Ending::safe ? "no choice: the safe setting is held,"
               : result.requests             ? "in force at the end"
                                             : "no choice in the time given; in force is",
               describe(problem.knobs, result.setting));
    if (!result.safe_why.empty() && result.policy_error.empty()) {
      fmt::print("  why      {}\n", result.safe_why);
    }
  } else if (!result.observation) {
    fmt::print("  no choice of the policy's fits: the best that was measured is held\n");
  } else if (result.held_for < problem.hold) {
    fmt::print("  held for {:.0f} s of the {:.0f} s asked for: the time was over\n",
               seconds(result.held_for), seconds(problem.hold));
  }
  if (!result.policy_error.empty()) fmt::print("  the policy failed: {}\n", result.policy_error);
}

void print_pair(const char* what, const SimulationProblem& problem, const Setting& setting,
                const BesideCost& cost) {
  fmt::print(
      "  {:<9}{}: {:.1f} W, {:.1f} ms a training and {:.1f} ms an inference minibatch, {:.2f} "
      "training minibatches a second\n",
      what, describe(problem.knobs, setting), cost.power_w, cost.train.minibatch_ms,
      cost.infer.minibatch_ms, cost.minibatches_per_s);
}

void print_pair_choice(const SimulationProblem& problem, const SimulationResult& result) {
  const PairVerdict verdict = judge_pair(problem, result);
  print_no_choice(problem, result);
  if (verdict.chosen) {
    print_pair("chosen", problem, result.setting, *verdict.chosen);
  } else if (result.ending == Ending::held) {
    fmt::print("  chosen   {}; its true cost breaks a limit\n",
               describe(problem.knobs, result.setting));
  }
  if (!verdict.optimum) {
    fmt::print("  optimum  none: no setting keeps these limits\n");
    return;
  }
  print_pair("optimum", problem, verdict.optimum->setting, verdict.optimum->cost);
  if (const auto loss = verdict.loss()) {
    fmt::print("  {:+.1f} % against the optimum of all {} settings\n", 0.0 - 100 * *loss,
               verdict.optimum->settings);
  }
}

void print_choice(const SimulationProblem& problem, const SimulationResult& result) {
  const Verdict verdict = judge(problem, result);
  print_no_choice(problem, result);
  if (result.ending == Ending::held && verdict.chosen) {
    print_cost("chosen", problem, result.setting, *verdict.chosen, verdict.value);
  }
  if (!verdict.optimum) {
    fmt::print("  optimum  none: no setting keeps these limits\n");
    return;
  }
  print_cost("optimum", problem, verdict.optimum->setting, verdict.optimum->cost,
             verdict.optimum->value);
  if (const auto excess = verdict.excess()) {
    fmt::print("  {:+.1f} % against the optimum of all {} settings\n", 100 * *excess,
               verdict.optimum->settings);
  }
}

}  // namespace

void print_result(const SimulationProblem& problem, const SimulationResult& result) {
  fmt::print(
      "{} {} on {}: {} {}\n", workloads_text(problem),
      is_pair(problem) ? "beside each other" : kind_name(problem.tasks.front().kind), problem.board,
      sought_text(problem.goal),
      (problem.goal.power_mw ? "within " + watts(*problem.goal.power_mw) : "without a power cap") +
          limits_text(problem.goal));
  if (!result.mission && is_pair(problem)) print_pair_choice(problem, result);
  if (!result.mission && !is_pair(problem)) print_choice(problem, result);
  fmt::print("  search   {} settings measured in {:.0f} s and {:.0f} J{}\n", result.measured.size(),
             seconds(result.search), result.search_j,
             result.search_ended ? "" : ", which made no choice");
  if (problem.goal.power_mw) {
    fmt::print(
        "  over     {} of them over the cap; {:.1f} Ws over it in {:.1f} s; the guard stepped in "
        "{} times\n",
        result.measured_over_cap, result.energy.over_cap_j, result.energy.over_cap_s,
        result.guard_steps);
  }
  if (result.requests) fmt::print("  requests {}\n", requests_text(*result.requests));
  if (result.drifts > 0) {
    fmt::print("  drift    found {} time{}; each time everything was measured anew\n",
               result.drifts, result.drifts == 1 ? "" : "s");
  }
  if (result.filled_nearest + result.filled_model + result.refused + result.not_applied == 0)
    return;
  fmt::print(
      "  gaps     {} filled from the nearest cell, {} by the model, {} refused{}; {} modes did "
      "not apply\n",
      result.filled_nearest, result.filled_model, result.refused,
      result.refused > 0 ? " (--missing nearest fills them)" : "", result.not_applied);
}

}  // namespace gearshift

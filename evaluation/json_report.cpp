#include <nlohmann/json.hpp>

#include "evaluation/distribution_json.h"
#include "evaluation/table_report.h"

namespace gearshift {
namespace {

using json = nlohmann::ordered_json;

json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

std::string_view unit_of(const Grid& grid) {
  if (grid.problems.empty()) return "ms";
  const Objective objective = grid.problems.front().goal.objective;
  if (objective == Objective::time || objective == Objective::latency) return "ms";
  return objective == Objective::weighted ? "1" : "J";
}

json to_json(const Grid& grid, const Row& row) {
  const Problem& problem = grid.problems[row.of.problem];
  const Goal& goal = problem.goal;
  const bool infer = problem.kind == Kind::infer;
  json out;
  out["policy"] = grid.policies[row.of.policy].name;
  out["workload"] = grid.workloads[row.of.workload].name;
  out["problem"] = kind_name(problem.kind);
  out["objective"] = objective_name(goal.objective);
  out["energy_weight"] = goal.weighs() ? json(goal.energy_weight) : json();
  out["energy_limit_j"] = number_or_null(goal.energy_j);
  out["cap_w"] = goal.power_mw ? json(static_cast<double>(*goal.power_mw) / 1e3) : json();
  out["latency_ms"] = goal.latency
                          ? json(std::chrono::duration<double, std::milli>(*goal.latency).count())
                          : json();
  out["arrivals_per_s"] = infer ? json(goal.arrivals_per_s) : json();
  out["seed"] = grid.seeds[row.of.seed];
  out["solvable"] = row.solvable;
  out["solved"] = row.solved;
  out["optimum"] = number_or_null(row.optimum);
  out["chosen"] = number_or_null(row.chosen);
  out["excess"] = number_or_null(row.excess);
  out["power_w"] = number_or_null(row.power_w);
  out["modes_profiled"] = row.trial.modes_profiled;
  out["probes_over_cap"] = row.trial.probes_over_cap;
  out["over_cap_j"] = row.trial.over_cap_j;
  out["infeasible"] = row.trial.infeasible;
  out["failure"] = row.trial.failure;
  return out;
}

json to_json(const Score& score) {
  const auto share = [&](std::size_t count) {
    if (score.rows == 0) return json();
    return json(static_cast<double>(count) / static_cast<double>(score.rows));
  };
  return {{"rows", score.rows},
          {"solved", score.solved},
          {"solved_share", share(score.solved)},
          {"excess", to_json(score.excess)},
          {"over_budget", score.over_budget},
          {"over_budget_share", share(score.over_budget)},
          {"over_budget_w", to_json(score.over_w)},
          {"late", score.late},
          {"late_share", share(score.late)},
          {"over_energy", score.over_energy},
          {"over_energy_share", share(score.over_energy)},
          {"gave_up", score.gave_up},
          {"policy_failed", score.failed},
          {"modes_profiled", to_json(score.modes_profiled)},
          {"probes_over_cap", to_json(score.probes_over_cap)},
          {"over_cap_j", to_json(score.over_cap_j)},
          {"search_s", to_json(score.search_s)},
          {"search_kj", to_json(score.search_kj)}};
}

json over_all_cells(const Row& row) {
  return {{"solvable", row.solvable},
          {"solved", row.solved},
          {"optimum", number_or_null(row.optimum)},
          {"excess", number_or_null(row.excess)}};
}

}  // namespace

std::string json_report(const Grid& grid, std::span<const Row> rows,
                        std::span<const Standing> standings, const AllCells* all) {
  json out;
  out["rows"] = json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out["rows"].push_back(to_json(grid, rows[i]));
    if (all != nullptr) out["rows"].back()["all_cells"] = over_all_cells(all->rows[i]);
  }
  json policies = json::array();
  for (const Standing& standing : standings) {
    policies.push_back(
        {{"policy", grid.policies[standing.policy].name},
         {"workload", standing.workload ? json(grid.workloads[*standing.workload].name) : json()},
         {"solvable", to_json(standing.solvable)},
         {"binding", to_json(standing.binding)},
         {"filled_nearest", standing.filled_nearest},
         {"filled_model", standing.filled_model},
         {"refused", standing.refused},
         {"unsolvable", {{"rows", standing.unsolvable}, {"recognised", standing.recognised}}}});
    if (all == nullptr) continue;
    const Standing& other = all->standings[policies.size() - 1];
    policies.back()["all_cells"] = {{"solvable", to_json(other.solvable)},
                                    {"binding", to_json(other.binding)}};
  }
  out["summary"] = {
      {"objective_unit", unit_of(grid)}, {"rows", rows.size()}, {"policies", policies}};
  return out.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace gearshift

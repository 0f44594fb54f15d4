#include "evaluation/csv_line.h"
#include "evaluation/number_text.h"
#include "evaluation/table_report.h"

namespace gearshift {
namespace {

std::string number_or_empty(const std::optional<double>& value) {
  return value ? exact(*value) : std::string();
}

std::string truth(bool value) { return value ? "true" : "false"; }

std::vector<std::string> fields_of(const Grid& grid, const Row& row) {
  const Problem& problem = grid.problems[row.of.problem];
  const Goal& goal = problem.goal;
  const KnobSpace& space = grid.workloads[row.of.workload].optimum.profile().knobs();
  std::optional<double> cap_w, latency_ms, arrivals_per_s;
  if (goal.power_mw) cap_w = static_cast<double>(*goal.power_mw) / 1e3;
  if (goal.latency) {
    latency_ms = std::chrono::duration<double, std::milli>(*goal.latency).count();
  }
  if (problem.kind == Kind::infer) arrivals_per_s = goal.arrivals_per_s;
  return {grid.policies[row.of.policy].name,
          grid.workloads[row.of.workload].name,
          std::string(kind_name(problem.kind)),
          number_or_empty(cap_w),
          number_or_empty(latency_ms),
          number_or_empty(arrivals_per_s),
          std::to_string(grid.seeds[row.of.seed]),
          truth(row.solvable),
          truth(row.solved),
          number_or_empty(row.optimum),
          number_or_empty(row.chosen),
          number_or_empty(row.excess),
          number_or_empty(row.power_w),
          std::to_string(row.trial.modes_profiled),
          std::to_string(row.trial.probes_over_cap),
          exact(row.trial.over_cap_j),
          space.describe(row.trial.held.mode),
          std::to_string(row.trial.held.batch_size[index(problem.kind)]),
          truth(row.trial.infeasible),
          exact(row.trial.search_s),
          exact(row.trial.search_j),
          std::to_string(row.trial.filled_nearest),
          std::to_string(row.trial.filled_model),
          std::to_string(row.trial.refused),
          row.trial.failure,
          std::string(objective_name(goal.objective)),
          number_or_empty(goal.weighs() ? std::optional(goal.energy_weight) : std::nullopt),
          number_or_empty(goal.energy_j)};
}

}  // namespace

std::string csv_report(const Grid& grid, std::span<const Row> rows, const AllCells* all) {
  std::string text =
      "policy,workload,problem,cap_w,latency_ms,arrivals_per_s,seed,solvable,solved,optimum,chosen,"
      "excess,power_w,modes_profiled,probes_over_cap,over_cap_j,mode,batch_size,infeasible,"
      "search_s,search_j,filled_nearest,filled_model,refused,failure,objective,energy_weight,"
      "energy_limit_j";
  text += all == nullptr ? "\n" : ",solvable_all,solved_all,optimum_all,excess_all\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> fields = fields_of(grid, rows[i]);
    if (all != nullptr) {
      const Row& row = all->rows[i];
      for (const bool value : {row.solvable, row.solved}) fields.push_back(truth(value));
      for (const auto& value : {row.optimum, row.excess}) fields.push_back(number_or_empty(value));
    }
    text += csv_line(fields);
  }
  return text;
}

}  // namespace gearshift

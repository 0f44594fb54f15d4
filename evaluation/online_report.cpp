#include "evaluation/online_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "evaluation/csv_line.h"
#include "evaluation/number_text.h"
#include "evaluation/script_failures.h"
#include "evaluation/statistics.h"

namespace gearshift {
namespace {

using json = nlohmann::ordered_json;

template <typename Figure>
double median_of(std::span<const OnlineRow> rows, Figure figure) {
  std::vector<double> values;
  for (const OnlineRow& row : rows) {
    if (row.optimum != nullptr) values.push_back(figure(row));
  }
  return median(std::move(values));
}

double or_never(const std::optional<std::uint32_t>& count) { return count ? *count : kNever; }

OnlineStanding standing_of(std::span<const OnlineRow> rows) {
  OnlineStanding standing;
  standing.of = rows.front().of;
  standing.rows = rows.size();
  standing.optimum_cost = rows.front().optimum_cost;
  for (const OnlineRow& row : rows) {
    if (!row.trial.failure.empty()) ++standing.failed;
    if (row.optimum == nullptr) continue;
    ++standing.solvable;
    if (!row.reached) ++standing.never_reached;
    if (!row.settled) ++standing.never_settled;
  }
  standing.reached = median_of(rows, [](const OnlineRow& row) { return or_never(row.reached); });
  standing.settled = median_of(rows, [](const OnlineRow& row) { return or_never(row.settled); });
  standing.late_regret =
      median_of(rows, [](const OnlineRow& row) { return row.late_regret.value_or(kNever); });
  standing.cumulative_regret =
      median_of(rows, [](const OnlineRow& row) { return row.cumulative_regret; });
  standing.over_cap =
      median_of(rows, [](const OnlineRow& row) { return static_cast<double>(row.over_cap); });
  return standing;
}

std::optional<double> cap_w_of(const Grid& grid, const Case& one) {
  const auto& power_mw = grid.problems[one.problem].goal.power_mw;
  if (!power_mw) return std::nullopt;
  return static_cast<double>(*power_mw) / 1e3;
}

std::string count_text(double count) { return count < kNever ? fixed(count, 0) : "never"; }
std::string percent_text(double share) { return share < kNever ? percent(share) : "-"; }

std::vector<std::string> line_of(const Grid& grid, const OnlineStanding& standing, bool caps) {
  const auto cap_w = cap_w_of(grid, standing.of);
  std::vector<std::string> line = {grid.policies[standing.of.policy].name,
                                   grid.workloads[standing.of.workload].name,
                                   exact(grid.problems[standing.of.problem].goal.energy_weight)};
  if (caps) line.push_back(cap_w ? exact(*cap_w) : "-");
  if (standing.solvable == 0) return line;
  line.push_back(count_text(standing.reached));
  line.push_back(count_text(standing.settled));
  line.push_back(std::to_string(standing.never_settled));
  line.push_back(percent_text(standing.late_regret));
  line.push_back(standing.cumulative_regret < kNever ? fixed(standing.cumulative_regret, 2) : "-");
  if (caps) line.push_back(fixed(standing.over_cap, 1));
  return line;
}

json number_or_null(double value) { return value < kNever ? json(value) : json(); }
template <typename Number>
json number_or_null(const std::optional<Number>& value) {
  return value ? number_or_null(static_cast<double>(*value)) : json();
}

json to_json(const Grid& grid, const OnlineRow& row) {
  const Profile& profile = grid.workloads[row.of.workload].optimum.profile();
  const bool solvable = row.optimum != nullptr;
  json out;
  out["policy"] = grid.policies[row.of.policy].name;
  out["workload"] = grid.workloads[row.of.workload].name;
  out["problem"] = "online";
  out["energy_weight"] = grid.problems[row.of.problem].goal.energy_weight;
  out["cap_w"] = number_or_null(cap_w_of(grid, row.of));
  out["seed"] = grid.seeds[row.of.seed];
  out["solvable"] = solvable;
  out["optimum_cost"] = solvable ? json(row.optimum_cost) : json();
  out["optimum_mode"] = solvable ? json(profile.knobs().describe(row.optimum->mode)) : json();
  out["optimum_batch"] = solvable ? json(row.optimum->batch_size) : json();
  out["measurements"] = row.regret.size();
  out["measurements_made"] = row.trial.sequence.size();
  out["reached"] = row.reached ? json(*row.reached) : json();
  out["settled"] = row.settled ? json(*row.settled) : json();
  out["late_regret"] = number_or_null(row.late_regret);
  out["cumulative_regret"] = solvable ? number_or_null(row.cumulative_regret) : json();
  out["probes_over_cap"] = row.over_cap;
  out["drift_alarms"] = row.trial.drifts;
  out["modes_profiled"] = row.trial.modes_profiled;
  out["failure"] = row.trial.failure;
  return out;
}

void append_all_cells(json& fields, const OnlineRow& row) {
  const bool solvable = row.optimum != nullptr;
  fields["optimum_cost_all"] = solvable ? json(row.optimum_cost) : json();
  fields["reached_all"] = number_or_null(row.reached);
  fields["settled_all"] = number_or_null(row.settled);
  fields["late_regret_all"] = number_or_null(row.late_regret);
  fields["cumulative_regret_all"] = solvable ? number_or_null(row.cumulative_regret) : json();
}

json to_json(const Grid& grid, const OnlineStanding& standing) {
  return {{"policy", grid.policies[standing.of.policy].name},
          {"workload", grid.workloads[standing.of.workload].name},
          {"energy_weight", grid.problems[standing.of.problem].goal.energy_weight},
          {"cap_w", number_or_null(cap_w_of(grid, standing.of))},
          {"seeds", standing.rows},
          {"solvable", standing.solvable},
          {"reached_median", number_or_null(standing.reached)},
          {"settled_median", number_or_null(standing.settled)},
          {"never_reached", standing.never_reached},
          {"never_settled", standing.never_settled},
          {"late_regret_median", number_or_null(standing.late_regret)},
          {"cumulative_regret_median", number_or_null(standing.cumulative_regret)},
          {"probes_over_cap_median", number_or_null(standing.over_cap)},
          {"policy_failed", standing.failed}};
}

}  // namespace

std::vector<OnlineStanding> summarise_online(std::span<const OnlineRow> rows) {
  std::vector<OnlineStanding> standings;
  while (!rows.empty()) {
    const Case first = rows.front().of;
    const auto end = std::find_if(rows.begin(), rows.end(), [&](const OnlineRow& row) {
      return row.of.policy != first.policy || row.of.workload != first.workload ||
             row.of.problem != first.problem;
    });
    const auto count = static_cast<std::size_t>(end - rows.begin());
    standings.push_back(standing_of(rows.first(count)));
    rows = rows.subspan(count);
  }
  return standings;
}

ComparisonTable online_table(const Grid& grid, std::span<const OnlineStanding> standings) {
  const bool caps = std::any_of(grid.problems.begin(), grid.problems.end(),
                                [](const Problem& one) { return one.goal.power_mw.has_value(); });
  ComparisonTable table;
  table.title = "Medians over the seeds, in measurements and in regret over the optimum's cost";
  table.columns = {"policy", "workload", "weight"};
  if (caps) table.columns.push_back("cap W");
  for (const std::string_view column :
       {"reached", "settled", "unsettled", "late %", "cumulative"}) {
    table.columns.push_back(column);
  }
  if (caps) table.columns.push_back("over cap");
  for (const OnlineStanding& standing : standings) {
    table.lines.push_back(line_of(grid, standing, caps));
    table.lines.back().resize(table.columns.size(), "-");  // where nothing keeps the limit
  }
  return table;
}

ComparisonTable all_cells_table(const Grid& grid, std::span<const OnlineStanding> standings) {
  ComparisonTable table = online_table(grid, standings);
  table.title = "The same, judged against the optimum over all cells, the suspect ones too";
  return table;
}

std::string online_text(const Grid& grid, std::span<const OnlineRow> rows,
                        std::span<const OnlineStanding> standings, const OnlineAllCells* all) {
  return text_of(online_table(grid, standings)) + text_of(failure_lines(grid, rows)) +
         (all == nullptr ? "" : '\n' + text_of(all_cells_table(grid, all->standings))) +
         "reached: the first measurement within 3 % of the optimum; settled: from it on every 20\n"
         "are, in the mean, unsettled seeds never; late: mean regret behind the first 100;\n"
         "cumulative: sum of all regrets, in optimal samples' costs\n";
}

std::string online_json(const Grid& grid, std::span<const OnlineRow> rows,
                        std::span<const OnlineStanding> standings, const OnlineAllCells* all) {
  json out;
  out["rows"] = json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out["rows"].push_back(to_json(grid, rows[i]));
    if (all != nullptr) append_all_cells(out["rows"].back(), all->rows[i]);
  }
  out["summary"] = json::array();
  for (std::size_t i = 0; i < standings.size(); ++i) {
    out["summary"].push_back(to_json(grid, standings[i]));
    if (all != nullptr) out["summary"].back()["all_cells"] = to_json(grid, all->standings[i]);
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string online_csv(const Grid& grid, std::span<const OnlineRow> rows,
                       const OnlineAllCells* all) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    json fields = to_json(grid, rows[i]);
    if (all != nullptr) append_all_cells(fields, all->rows[i]);
    std::vector<std::string> names, values;
    for (const auto& [name, value] : fields.items()) {
      names.push_back(name);
      if (value.is_string()) {
        values.push_back(value.get<std::string>());
      } else {
        values.push_back(value.is_null() ? std::string() : value.dump());
      }
    }
    if (text.empty()) text = csv_line(names);
    text += csv_line(values);
  }
  return text;
}

}  // namespace gearshift

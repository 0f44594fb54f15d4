#include "evaluation/concurrent_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "evaluation/chart.h"
#include "evaluation/csv_line.h"
#include "evaluation/distribution_json.h"
#include "evaluation/figures.h"
#include "evaluation/number_text.h"
#include "evaluation/request_table.h"
#include "evaluation/script_failures.h"
#include "evaluation/separate_clocks.h"

namespace gearshift {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view kLegend =
    "Solved: what is held keeps the limits, be it the safe setting of a search that chose none.\n"
    "Loss of training is that of the solved problems: of whole minibatches a second (loss/s), and "
    "of\n"
    "whole minibatches between two inference minibatches (loss/window, as published). No room: "
    "even the\n"
    "best setting has no window for a training minibatch; any setting that keeps the limits loses "
    "nothing.\n";

constexpr std::string_view kRequestLegend =
    "In time: choices whose 99th percentile of latency is within the limit in 99 % of the minutes; "
    "of\n"
    "all minutes and of all requests in the next two columns. Training is what was delivered, by "
    "what\n"
    "the formula says. No room: the choice has no window for a training minibatch.\n";

constexpr std::string_view kSeparateLegend =
    "The clocks change before and after each batch of requests, cores and the memory clock stay. "
    "Gain is\n"
    "that of whole training minibatches a second over the best power mode that both share, where "
    "that\n"
    "trains; in the last column each problem takes the better of both.\n";

std::vector<std::string> names_of(const Grid& grid, const ConcurrentStanding& standing) {
  return {grid.policies[standing.policy].name,
          standing.workload ? grid.workloads[*standing.workload].name : std::string("all")};
}

ComparisonTable quality_table(const Grid& grid, std::span<const ConcurrentStanding> standings,
                              bool all_cells) {
  const auto in_some = [&](std::size_t ConcurrentStanding::*count) {
    return std::any_of(standings.begin(), standings.end(),
                       [&](const ConcurrentStanding& one) { return one.*count > 0; });
  };
  const bool failed = in_some(&ConcurrentStanding::failed_solvable);
  const bool gave_up = in_some(&ConcurrentStanding::gave_up);
  ComparisonTable table;
  table.title = all_cells ? "The same, judged against the optimum over all cells, the suspect ones "
                            "too"
                          : "Training beside inference, all solvable problems";
  table.columns = {"policy", "workloads", "problems", "no room", "solved %"};
  if (failed) table.columns.push_back("failed %");
  if (gave_up) table.columns.push_back("infeasible %");
  table.columns.insert(table.columns.end(), {"loss/s %", "median %", "worst %", "loss/window %",
                                             "median %", "over %", "late %"});
  for (const ConcurrentStanding& one : standings) {
    std::vector<std::string> line = names_of(grid, one);
    const bool some = one.solved > 0;
    line.push_back(std::to_string(one.solvable));
    line.push_back(std::to_string(one.too_short));
    line.push_back(share_text(one.solved, one.solvable));
    if (failed) line.push_back(share_text(one.failed_solvable, one.solvable));
    if (gave_up) line.push_back(share_text(one.gave_up, one.solvable));
    for (const double loss : {one.loss_second.mean, one.loss_second.median, one.loss_second.most,
                              one.loss_window.mean, one.loss_window.median}) {
      line.push_back(some ? percent(loss) : "-");
    }
    line.push_back(share_text(one.over_budget, one.solvable));
    line.push_back(share_text(one.late, one.solvable));
    table.lines.push_back(std::move(line));
  }
  return table;
}

ComparisonTable search_table(const Grid& grid, std::span<const ConcurrentStanding> standings) {
  ComparisonTable table;
  table.title = "What the searches cost, over all solvable problems";
  table.columns = {"policy",        "workloads",     "modes mean", "modes most", "power modes",
                   "over cap mean", "over cap most", "search s",   "unsolvable", "infeasible %"};
  for (const ConcurrentStanding& one : standings) {
    std::vector<std::string> line = names_of(grid, one);
    line.push_back(fixed(one.modes_profiled.mean, 1));
    line.push_back(fixed(one.modes_profiled.most, 0));
    line.push_back(fixed(one.power_modes.mean, 1));
    line.push_back(fixed(one.probes_over_cap.mean, 1));
    line.push_back(fixed(one.probes_over_cap.most, 0));
    line.push_back(fixed(one.search_s.mean, 1));
    line.push_back(std::to_string(one.unsolvable));
    line.push_back(share_text(one.recognised, one.unsolvable));
    table.lines.push_back(std::move(line));
  }
  return table;
}

json to_json(const ConcurrentFigure& figure, bool solvable) {
  if (!solvable) return {};
  return {{"optimum", figure.optimum}, {"chosen", figure.chosen}, {"loss", figure.loss}};
}

json judgement(const ConcurrentRow& row) {
  return {{"solvable", row.solvable},
          {"solved", row.solved},
          {"no_room", row.too_short},
          {"minibatches_per_s", to_json(row.second, row.solvable)},
          {"minibatches_per_window", to_json(row.window, row.solvable)}};
}

json to_json(const Grid& grid, const ConcurrentRow& row) {
  const Goal& goal = grid.problems[row.of.problem].goal;
  const KnobSpace& space = grid.workloads[row.of.workload].optimum.profile().knobs();
  json out = {{"policy", grid.policies[row.of.policy].name},
              {"workload", grid.workloads[row.of.workload].name},
              {"problem", "concurrent"},
              {"cap_w", goal.power_mw ? json(static_cast<double>(*goal.power_mw) / 1e3) : json()},
              {"latency_ms", std::chrono::duration<double, std::milli>(*goal.latency).count()},
              {"arrivals_per_s", goal.arrivals_per_s},
              {"seed", grid.seeds[row.of.seed]}};
  out.update(judgement(row));
  out["optimum_mode"] = row.best ? json(space.describe(row.best->infer->mode)) : json();
  out["optimum_batch"] = row.best ? json(row.best->infer->batch_size) : json();
  out["mode"] = space.describe(row.trial.held.mode);
  out["infer_batch"] = row.trial.held.batch_size[index(Kind::infer)];
  out["power_w"] = row.power_w ? json(*row.power_w) : json();
  out["over_w"] = row.over_w;
  out["late"] = row.late;
  out["infeasible"] = row.trial.infeasible;
  out["modes_profiled"] = row.trial.modes_profiled;
  out["power_modes"] = row.trial.power_modes;
  out["probes_over_cap"] = row.trial.probes_over_cap;
  out["over_cap_j"] = row.trial.over_cap_j;
  out["search_s"] = row.trial.search_s;
  out["failure"] = row.trial.failure;
  return out;
}

json to_json(const Grid& grid, const ConcurrentStanding& one) {
  const auto share_of = [](std::size_t count, std::size_t rows) {
    return rows == 0 ? json() : json(static_cast<double>(count) / static_cast<double>(rows));
  };
  return {{"policy", grid.policies[one.policy].name},
          {"workload", one.workload ? json(grid.workloads[*one.workload].name) : json()},
          {"solvable", one.solvable},
          {"solved", one.solved},
          {"solved_share", share_of(one.solved, one.solvable)},
          {"gave_up", one.gave_up},
          {"no_room", one.too_short},
          {"over_budget", one.over_budget},
          {"over_budget_most_w", one.most_over_w},
          {"late", one.late},
          {"loss_per_s", to_json(one.loss_second)},
          {"loss_per_window", to_json(one.loss_window)},
          {"modes_profiled", to_json(one.modes_profiled)},
          {"power_modes", to_json(one.power_modes)},
          {"probes_over_cap", to_json(one.probes_over_cap)},
          {"search_s", to_json(one.search_s)},
          {"policy_failed", one.failed},
          {"unsolvable", {{"rows", one.unsolvable}, {"recognised", one.recognised}}}};
}

json row_json(const Grid& grid, const ConcurrentResults& results, const ConcurrentResults* all,
              std::size_t i) {
  json out = to_json(grid, results.rows[i]);
  if (all != nullptr) out["all_cells"] = judgement(all->rows[i]);
  out["requests"] = json::array();
  for (const RequestOutcome& outcome : results.rows[i].requests) {
    out["requests"].push_back(to_json(outcome));
  }
  out["separate_clocks"] = json::array();
  for (const SeparateFigure& figure : results.rows[i].separate) {
    out["separate_clocks"].push_back(to_json(figure));
  }
  return out;
}

// Nested objects become columns named after both.
void flatten(const json& value, const std::string& name, std::vector<std::string>& names,
             std::vector<std::string>& values) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      flatten(inner, name.empty() ? key : name + '.' + key, names, values);
    }
    return;
  }
  names.push_back(name);
  values.push_back(value.is_string() ? value.get<std::string>()
                   : value.is_null() ? std::string()
                                     : value.dump());
}

// So that each row has the same columns.
void fill_columns(json& row) {
  const json none = {{"optimum", nullptr}, {"chosen", nullptr}, {"loss", nullptr}};
  for (const char* of : {"minibatches_per_s", "minibatches_per_window"}) {
    if (row[of].is_null()) row[of] = none;
  }
}

Chart loss_chart(const Grid& grid, std::span<const ConcurrentRow> rows, std::size_t workload) {
  std::vector<ChartSeries> series;
  double highest_w = 1, lowest_w = 1e6, most = 1;
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    std::map<double, std::pair<double, double>> by_cap;  // sum and count
    for (const ConcurrentRow& row : rows) {
      const auto& cap_mw = grid.problems[row.of.problem].goal.power_mw;
      if (row.of.policy != policy || row.of.workload != workload || !row.solved || !cap_mw)
        continue;
      auto& [sum, count] = by_cap[static_cast<double>(*cap_mw) / 1e3];
      sum += 100 * row.second.loss;
      ++count;
    }
    ChartSeries line{
        .series = policy, .points = {}, .joined = true, .widest_step = widest_step_w(grid)};
    for (const auto& [cap_w, sum] : by_cap) {
      const double mean = sum.first / sum.second;
      line.points.push_back({cap_w, mean, ""});
      lowest_w = std::min(lowest_w, cap_w);
      highest_w = std::max(highest_w, cap_w);
      most = std::max(most, mean);
    }
    series.push_back(std::move(line));
  }
  return {.description = grid.workloads[workload].name + ": mean loss of training by power limit",
          .x = Axis("power limit, W", Spacing::linear, std::min(lowest_w, highest_w), highest_w),
          .y = Axis("mean loss, %", Spacing::root, 0, most),
          .cloud = {},
          .fronts = {},
          .series = std::move(series)};
}

}  // namespace

std::string concurrent_text(const Grid& grid, const ConcurrentResults& results,
                            const ConcurrentResults* all) {
  std::string text = text_of(quality_table(grid, results.standings, false));
  text += text_of(failure_lines(grid, results.rows));
  if (all != nullptr) text += '\n' + text_of(quality_table(grid, all->standings, true));
  text += kLegend;
  const ComparisonTable held = request_table(grid, results.rows);
  if (!held.lines.empty()) text += '\n' + text_of(held) + std::string(kRequestLegend);
  const ComparisonTable apart = separate_table(grid, results.rows);
  if (!apart.lines.empty()) text += '\n' + text_of(apart) + std::string(kSeparateLegend);
  return text + '\n' + text_of(search_table(grid, results.standings));
}

std::string concurrent_json(const Grid& grid, const ConcurrentResults& results,
                            const ConcurrentResults* all) {
  json out;
  out["rows"] = json::array();
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    out["rows"].push_back(row_json(grid, results, all, i));
  }
  json policies = json::array();
  for (std::size_t i = 0; i < results.standings.size(); ++i) {
    policies.push_back(to_json(grid, results.standings[i]));
    if (all != nullptr) policies.back()["all_cells"] = to_json(grid, all->standings[i]);
  }
  out["summary"] = {{"rows", results.rows.size()}, {"policies", policies}};
  return out.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string concurrent_csv(const Grid& grid, const ConcurrentResults& results,
                           const ConcurrentResults* all) {
  std::string text;
  for (std::size_t i = 0; i < results.rows.size(); ++i) {
    json row = row_json(grid, results, all, i);
    fill_columns(row);
    if (all != nullptr) fill_columns(row["all_cells"]);
    std::vector<std::string> names, values;
    flatten(row, "", names, values);
    if (text.empty()) text = csv_line(names);
    text += csv_line(values);
  }
  return text;
}

std::string concurrent_html(const Grid& grid, const ConcurrentResults& results,
                            const ConcurrentResults* all, const Provenance& provenance) {
  std::string out = html_head("How much training fits beside inference?") + "<p>";
  out += count_of(grid.policies.size(), "policy", "policies") + " on " +
         count_of(grid.workloads.size(), "pair of workloads", "pairs of workloads") + ", " +
         count_of(grid.problems.size(), "problem", "problems") +
         " each. The optimum is exhaustive over the settings that both were measured in; every "
         "choice is judged on what its setting truly costs.</p>\n";
  out += html_table(grid, quality_table(grid, results.standings, false));
  out += html_lines(failure_lines(grid, results.rows));
  if (all != nullptr) out += html_table(grid, quality_table(grid, all->standings, true));
  out += "<p class=\"faint\">" + std::string(kLegend) + "</p>\n";
  out += html_figures(grid, "Loss of training by power limit",
                      "The mean over the solved problems of each limit, of minibatches a second; "
                      "lower is better. Small values have more room.",
                      [&](std::size_t i) { return svg(loss_chart(grid, results.rows, i)); });
  if (const ComparisonTable held = request_table(grid, results.rows); !held.lines.empty()) {
    out += html_table(grid, held) + "<p class=\"faint\">" + std::string(kRequestLegend) + "</p>\n";
  }
  if (const ComparisonTable apart = separate_table(grid, results.rows); !apart.lines.empty()) {
    out +=
        html_table(grid, apart) + "<p class=\"faint\">" + std::string(kSeparateLegend) + "</p>\n";
  }
  out += html_table(grid, search_table(grid, results.standings));
  return out + html_end(grid, provenance);
}

}  // namespace gearshift

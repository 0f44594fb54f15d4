#include "evaluation/separate_clocks.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "controller/whole_minibatches.h"
#include "evaluation/number_text.h"

namespace gearshift {
namespace {

std::vector<std::int64_t> shared_values(const KnobSpace& knobs, const PowerMode& mode) {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    if (knobs.knobs[i].knob_class != KnobClass::clock) values.push_back(mode.values[i]);
  }
  return values;
}

// Of one pair and one time that a change of clocks takes.
struct ClocksSum {
  std::size_t problems = 0;  // where the best shared mode trains
  double gain = 0;
  double chosen = 0;  // where the better of both is taken
  std::size_t better = 0;
  std::size_t worse = 0;
  std::size_t only = 0;  // solvable with clocks of its own alone

  void add(const Problem& problem, const ConcurrentRow& row, const SeparateFigure& figure) {
    if (row.best == nullptr) {
      if (figure.minibatches_per_s) ++only;
      return;
    }
    const double shared = throughput(problem, *row.best, Throughput::second);
    if (shared <= 0) return;
    const double ratio = figure.minibatches_per_s.value_or(0) / shared - 1;
    ++problems;
    gain += ratio;
    chosen += std::max(0.0, ratio);
    if (ratio > 1e-9) ++better;
    if (ratio < -1e-9) ++worse;
  }
  std::string mean(double sum) const {
    return problems > 0 ? percent(sum / static_cast<double>(problems)) : "-";
  }
};

}  // namespace

SeparateClocks::SeparateClocks(const KnobSpace& knobs, const ConcurrentTable& table) {
  std::map<std::vector<std::int64_t>, std::vector<const ConcurrentCell*>> groups;
  for (const ConcurrentCell& cell : table.cells()) {
    if (cell.trusted) groups[shared_values(knobs, cell.infer->mode)].push_back(&cell);
  }
  for (auto& [values, cells] : groups) shared_.push_back(std::move(cells));
}

std::optional<double> SeparateClocks::best(const Problem& problem, double switch_ms) const {
  const double limit_ms =
      problem.goal.latency
          ? std::chrono::duration<double, std::milli>(*problem.goal.latency).count()
          : kNever;
  std::optional<double> most;
  for (const std::vector<const ConcurrentCell*>& cells : shared_) {
    double train_ms = kNever;
    std::map<std::int32_t, double> infer_ms;  // the fastest within the power limit, by batch size
    for (const ConcurrentCell* cell : cells) {
      if (keeps_power(problem, *cell->train) && keeps_energy(problem, *cell->train)) {
        train_ms = std::min(train_ms, cell->train->minibatch_ms);
      }
      if (!keeps_power(problem, *cell->infer)) continue;
      const auto [known, added] =
          infer_ms.try_emplace(cell->infer->batch_size, cell->infer->minibatch_ms);
      if (!added) known->second = std::min(known->second, cell->infer->minibatch_ms);
    }
    if (train_ms == kNever) continue;
    for (const auto& [batch_size, ms] : infer_ms) {
      const double fill_ms = arrival_ms(problem, batch_size);
      const double left_ms = fill_ms - ms - 2 * switch_ms;
      if (left_ms < 0 || fill_ms + switch_ms + ms > limit_ms) continue;
      const auto minibatches =
          static_cast<double>(whole_minibatches(fill_ms, ms + 2 * switch_ms, train_ms));
      most = std::max(most.value_or(0), 1e3 * minibatches / fill_ms);
    }
  }
  return most;
}

ComparisonTable separate_table(const Grid& grid, std::span<const ConcurrentRow> rows) {
  ComparisonTable table;
  table.title = "Clocks of their own for training and inference, by the exhaustive optimum";
  table.columns = {"workloads", "a change", "problems", "gain %",
                   "better",    "worse",    "only so",  "if it gains %"};
  std::size_t times = 0;
  for (const ConcurrentRow& row : rows) times = std::max(times, row.separate.size());
  for (std::size_t workload = 0; workload < grid.workloads.size(); ++workload) {
    for (std::size_t time = 0; time < times; ++time) {
      ClocksSum sum;
      double switch_ms = 0;
      for (const ConcurrentRow& row : rows) {
        const bool first = row.of.policy == 0 && row.of.seed == 0;
        if (!first || row.of.workload != workload) continue;
        switch_ms = row.separate[time].switch_ms;
        sum.add(grid.problems[row.of.problem], row, row.separate[time]);
      }
      table.lines.push_back({grid.workloads[workload].name, exact(switch_ms) + " ms",
                             std::to_string(sum.problems), sum.mean(sum.gain),
                             std::to_string(sum.better), std::to_string(sum.worse),
                             std::to_string(sum.only), sum.mean(sum.chosen)});
    }
  }
  return table;
}

nlohmann::ordered_json to_json(const SeparateFigure& figure) {
  return {{"switch_ms", figure.switch_ms},
          {"minibatches_per_s", figure.minibatches_per_s
                                    ? nlohmann::ordered_json(*figure.minibatches_per_s)
                                    : nlohmann::ordered_json()}};
}

}  // namespace gearshift

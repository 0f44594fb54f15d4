#include "simulator/optimum.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace gearshift {
namespace {

constexpr int kLeastCapW = 10;
constexpr int kMostCapW = 60;
constexpr std::size_t kMaxTables = 8;
constexpr Objective kObjectives[] = {Objective::time, Objective::energy};

std::string row(const KnobSpace& space, const Load& load, int cap_w, Objective objective,
                const std::optional<Optimum>& optimum) {
  std::string text = load.name + ' ' + std::string(kind_name(load.kind)) + ' ' +
                     std::to_string(cap_w) + ' ' + std::string(objective_name(objective));
  if (!optimum) return text + " none\n";
  for (const std::string_view name : {"cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz"}) {
    const std::size_t knob = *space.find(name);
    text += ' ' + describe_value(space.knobs[knob].unit, optimum->mode.values[knob]);
  }
  std::array<char, 128> numbers{};
  std::snprintf(numbers.data(), numbers.size(), " %d %.3f %.3f %.4f %.3f\n", optimum->batch_size,
                optimum->power_w, optimum->minibatch_ms, optimum->sample_ms(),
                optimum->sample_mj());
  return text + numbers.data();
}

}  // namespace

OptimumTable::OptimumTable(const BoardDescription& board, const WorkloadParameters& workload,
                           std::span<const std::int32_t> batch_sizes) {
  const KnobSpace space = board.knob_space();
  std::vector<Optimum> all;
  for (const PowerMode& mode : modes_by_power(board, space)) {
    const ModelMode clocks = model_mode(space, mode, {});
    for (const std::int32_t batch_size : batch_sizes) {
      const MinibatchCost cost = minibatch_cost(*board.model, workload.demand(batch_size), clocks);
      all.push_back({mode, batch_size, cost.power_w, cost.minibatch_ms});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Optimum& a, const Optimum& b) { return a.power_w < b.power_w; });
  for (const Objective objective : kObjectives) {
    std::vector<Optimum>& frontier = frontiers_[static_cast<std::size_t>(objective)];
    for (const Optimum& candidate : all) {
      if (frontier.empty() || candidate.value(objective) < frontier.back().value(objective)) {
        frontier.push_back(candidate);
      }
    }
  }
}

std::optional<Optimum> OptimumTable::best(Objective objective, double cap_w) const {
  const std::vector<Optimum>& frontier = frontiers_[static_cast<std::size_t>(objective)];
  const auto above = std::upper_bound(
      frontier.begin(), frontier.end(), cap_w,
      [](double cap, const Optimum& candidate) { return cap < candidate.power_w; });
  if (above == frontier.begin()) return std::nullopt;
  return *(above - 1);
}

std::string OptimumText::text(const Loads& loads) {
  std::string text =
      "# workload kind cap_w objective cpu_cores cpu_mhz gpu_mhz mem_mhz batch_size power_w "
      "minibatch_ms sample_ms sample_mj\n";
  for (const auto& [handle, load] : loads.all()) {
    const std::pair key(load.workload, load.batch_sizes);
    auto table = tables_.find(key);
    if (table == tables_.end()) {
      if (tables_.size() == kMaxTables) tables_.clear();
      table = tables_.emplace(key, OptimumTable(board_, *load.workload, load.batch_sizes)).first;
    }
    for (const Objective objective : kObjectives) {
      for (int cap_w = kLeastCapW; cap_w <= kMostCapW; ++cap_w) {
        text += row(space_, load, cap_w, objective, table->second.best(objective, cap_w));
      }
    }
  }
  return text;
}

}  // namespace gearshift

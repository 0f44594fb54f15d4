#include "simulator/optimum.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

namespace gearshift {
namespace {

constexpr int kLeastCapW = 10;
constexpr int kMostCapW = 60;
constexpr std::size_t kMaxTables = 16;  // as many as there can be loads
constexpr Objective kTabulated[] = {Objective::time, Objective::energy};

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

constexpr std::size_t kModesAtATime = 1000;

PowerMode mode_at(const KnobSpace& space, std::size_t index) {
  PowerMode mode;
  for (const Knob& knob : space.knobs) {
    mode.values[mode.count++] = knob.values[index % knob.values.size()];
    index /= knob.values.size();
  }
  return mode;
}

// Keeps out what is beaten, and takes out what `candidate` beats. Along a frontier power grows and
// the value falls.
void add(std::vector<Optimum>& frontier, const Optimum& candidate, Objective objective) {
  const auto draws_less = [](const Optimum& a, const Optimum& b) { return a.power_w < b.power_w; };
  const auto above = std::upper_bound(frontier.begin(), frontier.end(), candidate, draws_less);
  const double value = candidate.value(objective);
  if (above != frontier.begin() && std::prev(above)->value(objective) <= value) return;
  const auto first = std::lower_bound(frontier.begin(), above, candidate, draws_less);
  const auto last = std::find_if(first, frontier.end(),
                                 [&](const Optimum& one) { return one.value(objective) < value; });
  frontier.insert(frontier.erase(first, last), candidate);
}

}  // namespace

ModelledOptimum::ModelledOptimum(const BoardDescription& board, const WorkloadParameters& workload,
                                 std::span<const std::int32_t> batch_sizes)
    : board_(board),
      workload_(workload),
      space_(board.knob_space()),
      batch_sizes_(batch_sizes.begin(), batch_sizes.end()) {}

void ModelledOptimum::judge(const PowerMode& mode) {
  const ModelMode clocks = model_mode(space_, mode, {});
  for (const std::int32_t batch_size : batch_sizes_) {
    const MinibatchCost cost =
        minibatch_cost(board_.parameters(workload_.kind), workload_.demand(batch_size), clocks);
    const Optimum candidate{mode, batch_size, cost.power_w, cost.minibatch_ms};
    for (const Objective objective : kTabulated) {
      add(frontiers_[static_cast<std::size_t>(objective)], candidate, objective);
    }
  }
}

bool ModelledOptimum::advance() {
  const std::size_t modes = space_.mode_count();
  const std::size_t end = std::min(modes, next_mode_ + kModesAtATime);
  for (; next_mode_ < end; ++next_mode_) judge(mode_at(space_, next_mode_));
  return next_mode_ == modes;
}

std::optional<Optimum> ModelledOptimum::best(Objective objective, double cap_w) const {
  const std::vector<Optimum>& frontier = frontiers_[static_cast<std::size_t>(objective)];
  const auto above = std::upper_bound(
      frontier.begin(), frontier.end(), cap_w,
      [](double cap, const Optimum& candidate) { return cap < candidate.power_w; });
  if (above == frontier.begin()) return std::nullopt;
  return *(above - 1);
}

ModelledOptimum& OptimumText::table_of(const Load& load) {
  const std::pair key(load.workload, load.batch_sizes);
  const auto known = tables_.find(key);
  if (known != tables_.end()) return known->second;
  if (tables_.size() == kMaxTables) tables_.clear();
  return tables_.try_emplace(key, board_, *load.workload, load.batch_sizes).first->second;
}

bool OptimumText::advance(const Loads& loads) {
  return std::all_of(loads.all().begin(), loads.all().end(),
                     [this](const auto& load) { return table_of(load.second).advance(); });
}

std::string OptimumText::text(const Loads& loads) {
  std::string text =
      "# workload kind cap_w objective cpu_cores cpu_mhz gpu_mhz mem_mhz batch_size power_w "
      "minibatch_ms sample_ms sample_mj\n";
  for (const auto& [handle, load] : loads.all()) {
    ModelledOptimum& table = table_of(load);
    while (!table.advance()) continue;
    for (const Objective objective : kTabulated) {
      for (int cap_w = kLeastCapW; cap_w <= kMostCapW; ++cap_w) {
        text += row(space_, load, cap_w, objective, table.best(objective, cap_w));
      }
    }
  }
  return text;
}

}  // namespace gearshift

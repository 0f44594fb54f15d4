#include "limits/battery_plan.h"

#include <algorithm>
#include <cstdio>

namespace gearshift {
namespace {

// A charger may give all that the board draws: energy is then no limit.
double drain_w(double power_w, const BatteryTask& task) {
  return std::max(kLeastDrainW, power_w + task.other_w);
}

}  // namespace

BatteryPlan plan_at(const PowerHull& hull, const BatteryTask& task, double power_w, double time_s) {
  BatteryPlan plan;
  plan.shortfall = Shortfall::none;
  const auto vertices = hull.vertices();
  const std::size_t i = hull.segment(power_w);
  plan.low = vertices[i];
  plan.high = vertices[std::min(i + 1, vertices.size() - 1)];
  const double span_w = plan.high.power_w - plan.low.power_w;
  plan.high_share = span_w > 0 ? std::clamp((power_w - plan.low.power_w) / span_w, 0.0, 1.0) : 1.0;
  plan.mean_power_w = plan.low.power_w + plan.high_share * span_w;
  plan.time_s = time_s;
  plan.energy_j = drain_w(plan.mean_power_w, task) * time_s;
  plan.samples = hull.samples_per_s(power_w) * time_s;
  return plan;
}

namespace {

BatteryPlan until_empty(const PowerHull& hull, const BatteryTask& task, double power_w) {
  BatteryPlan plan =
      plan_at(hull, task, power_w, std::max(0.0, task.energy_j) / drain_w(power_w, task));
  plan.charged = power_w + task.other_w <= kLeastDrainW;
  return plan;
}

double most_efficient_power_w(const PowerHull& hull, double other_w) {
  return hull.vertices()[hull.most_efficient(other_w)].power_w;
}

// Of the battery's energy. What a charger gives comes whatever the board does, for nobody knows how
// long: it does not make slow work the best, and all of it is used.
double most_work_power_w(const PowerHull& hull, const BatteryTask& task) {
  const double efficient_w = most_efficient_power_w(hull, std::max(0.0, task.other_w));
  return std::clamp(-task.other_w, efficient_w, hull.vertices().back().power_w);
}

BatteryPlan short_of_energy(const PowerHull& hull, const BatteryTask& task, double power_w) {
  BatteryPlan plan = until_empty(hull, task, power_w);
  plan.shortfall = Shortfall::energy;
  return plan;
}

BatteryPlan plan_short_of_energy(const PowerHull& hull, const BatteryTask& task) {
  return short_of_energy(hull, task, most_work_power_w(hull, task));
}

}  // namespace

BatteryPlan plan_that_lasts_longest(const PowerHull& hull, const BatteryTask& task) {
  const WorkPoint& least = hull.vertices().front();
  return least.samples_per_s > 0 ? short_of_energy(hull, task, least.power_w)
                                 : plan_short_of_energy(hull, task);
}

namespace {

// From the most efficient vertex on, work a joule falls as power rises: the highest power that
// still does `samples_per_j` of the battery's energy. Nullopt where none does.
std::optional<double> highest_power_w(const PowerHull& hull, const BatteryTask& task,
                                      double samples_per_j) {
  const auto vertices = hull.vertices();
  const auto enough = [&](const WorkPoint& vertex) {
    return vertex.samples_per_s >= samples_per_j * drain_w(vertex.power_w, task);
  };
  std::size_t i = hull.most_efficient(task.other_w);
  if (!enough(vertices[i])) return std::nullopt;
  while (i + 1 < vertices.size() && enough(vertices[i + 1])) ++i;
  if (i + 1 == vertices.size()) return vertices[i].power_w;
  // On the way to the next vertex the line r1 + slope (p - p1) meets samples_per_j (p + other).
  const WorkPoint& low = vertices[i];
  const WorkPoint& high = vertices[i + 1];
  const double slope = (high.samples_per_s - low.samples_per_s) / (high.power_w - low.power_w);
  const double power_w = (low.samples_per_s - slope * low.power_w - samples_per_j * task.other_w) /
                         (samples_per_j - slope);
  return std::clamp(power_w, low.power_w, high.power_w);
}

BatteryPlan plan_finish(const PowerHull& hull, const BatteryTask& task) {
  const double samples_per_j =
      task.energy_j > 0 ? task.samples / task.energy_j : std::numeric_limits<double>::infinity();
  const auto power_w = highest_power_w(hull, task, samples_per_j);
  if (!power_w) return plan_short_of_energy(hull, task);
  BatteryPlan plan = plan_at(hull, task, *power_w, task.samples / hull.samples_per_s(*power_w));
  if (task.time_s && plan.time_s > *task.time_s) plan.shortfall = Shortfall::time;
  return plan;
}

// Slower than at the most efficient vertex each sample takes more energy again: the work is then
// done before its time.
BatteryPlan plan_least_energy(const PowerHull& hull, const BatteryTask& task) {
  const double time_s = std::max(0.0, task.time_s.value_or(0));
  const auto needed_w = time_s > 0 ? hull.power_w(task.samples / time_s) : std::optional<double>{};
  if (!needed_w) {  // as fast as the energy allows is all that can be done
    BatteryPlan plan = plan_finish(hull, task);
    if (plan.shortfall == Shortfall::none) plan.shortfall = Shortfall::time;
    return plan;
  }
  const double power_w = std::max(*needed_w, most_efficient_power_w(hull, task.other_w));
  const BatteryPlan plan = plan_at(hull, task, power_w, task.samples / hull.samples_per_s(power_w));
  return plan.energy_j <= task.energy_j ? plan : plan_short_of_energy(hull, task);
}

// Below the least power of the hull nothing lasts so long. Errors of the plan before, which are
// near the end as large as what is left, are no lack yet.
BatteryPlan plan_serve(const PowerHull& hull, const BatteryTask& task) {
  const double time_s = std::max(1.0, task.time_s.value_or(1));
  const double power_w = task.energy_j / time_s - task.other_w;
  const BatteryPlan plan = plan_at(hull, task, power_w, time_s);
  const double above_j = task.energy_j + task.spare_j;
  return plan.energy_j <= above_j * (1 + 1e-9) + 1e-9 ? plan : plan_that_lasts_longest(hull, task);
}

}  // namespace

BatteryPlan plan_battery(const PowerHull& hull, const BatteryTask& task) {
  if (hull.empty()) return {};
  switch (task.aim) {
    case BatteryAim::finish:
      return plan_finish(hull, task);
    case BatteryAim::least_energy:
      return plan_least_energy(hull, task);
    case BatteryAim::serve:
      return plan_serve(hull, task);
    case BatteryAim::progress:
      return until_empty(hull, task, most_work_power_w(hull, task));
  }
  return {};
}

std::string describe(const BatteryPlan& plan) {
  if (plan.shortfall == Shortfall::unknown) return "no plan: nothing is known of any setting yet";
  char text[160];
  if (plan.charged) {
    std::snprintf(text, sizeof text, "%.1f W, as long as a charger gives it", plan.mean_power_w);
  } else if (plan.high_share >= 1 || plan.high_share <= 0) {
    std::snprintf(text, sizeof text, "%.1f W for %.0f s", plan.mean_power_w, plan.time_s);
  } else {
    std::snprintf(text, sizeof text,
                  "%.1f W and %.1f W in turns, %.0f %% of the time in the higher, for %.0f s",
                  plan.low.power_w, plan.high.power_w, 100 * plan.high_share, plan.time_s);
  }
  const std::string words(text);
  return plan.shortfall == Shortfall::none
             ? words
             : words + "; too little " + std::string(shortfall_name(plan.shortfall));
}

}  // namespace gearshift

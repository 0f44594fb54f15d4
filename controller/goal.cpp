#include "controller/goal.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "controller/interleaving.h"

namespace gearshift {
namespace {

// Of the time, where requests queue up: the wait is then bounded, and still rises.
constexpr double kLeastIdle = 0.001;

// A term of weight 0 counts nothing, even where its factor is infinite.
double weighed(double weight, double value) { return weight > 0 ? weight * value : 0; }

}  // namespace

double Goal::cost(double time_s, double joules) const {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const double time_weight = 1 - energy_weight;
  switch (objective) {
    case Objective::time:
    case Objective::latency:
    case Objective::throughput:
      return time_s;
    case Objective::energy:
      return joules;
    case Objective::weighted:
      if (!has_reference()) return kUnknown;
      return weighed(energy_weight, joules / reference_j) +
             weighed(time_weight, time_s / reference_s);
    case Objective::target:
      if (priced_power_mw <= 0 && time_weight > 0) return kUnknown;
      return weighed(energy_weight, joules) +
             weighed(time_weight, static_cast<double>(priced_power_mw) / 1e3 * time_s);
  }
  return kUnknown;
}

bool Goal::answers_in_time(double batch_size, double minibatch_s) const {
  if (!latency || arrivals_per_s <= 0) return true;
  const double fill_s = batch_size / arrivals_per_s;
  if (fill_s + minibatch_s <= seconds(*latency)) return true;
  // One by one, requests do not wait for a batch to be full. To the nanosecond, as it is measured.
  const double half_full_ns = std::round(1e9 * (fill_s / 2 + minibatch_s));
  return one_by_one && half_full_ns <= static_cast<double>(planned_latency(*latency).count());
}

bool Goal::keeps_pace(Kind kind, double batch_size, double minibatch_s) const {
  if (kind != Kind::infer || arrivals_per_s <= 0) return true;
  return minibatch_s <= most_busy() * (batch_size / arrivals_per_s) &&
         answers_in_time(batch_size, minibatch_s);
}

bool Goal::keeps_energy(Kind kind, double batch_size, double minibatch_s, double power_w) const {
  return !energy_j || drawn_s(kind, minibatch_s / batch_size) * power_w <= *energy_j;
}

bool Goal::keeps_limits(Kind kind, double batch_size, double minibatch_s, double power_w) const {
  return keeps_energy(kind, batch_size, minibatch_s, power_w) &&
         keeps_pace(kind, batch_size, minibatch_s);
}

double Goal::counted_latency_s(double batch_size, double minibatch_s) const {
  const double fill_s = batch_size / arrivals_per_s;
  if (!one_by_one) return fill_s + minibatch_s;
  const double busy = minibatch_s / fill_s;
  const double queued_s = minibatch_s * busy / std::max(1 - busy, kLeastIdle) / (2 * batch_size);
  return (batch_size - 1) / arrivals_per_s / 2 + queued_s + minibatch_s;
}

double Goal::value(Kind kind, double batch_size, double minibatch_s, double power_w) const {
  if (objective == Objective::latency && kind == Kind::infer && arrivals_per_s > 0) {
    return counted_latency_s(batch_size, minibatch_s);
  }
  const double sample_s = minibatch_s / batch_size;
  return cost(sample_s, drawn_s(kind, sample_s) * power_w);
}

std::string describe(const Goal& goal) {
  std::string text(objective_name(goal.objective));
  if (goal.weighs()) {
    char weight[40];
    std::snprintf(weight, sizeof weight, ", energy weight %.6g", goal.energy_weight);
    text += weight;
  }
  if (goal.objective_by_default && goal.objective == Objective::throughput) {
    text += kDefaultBesideRequests;
  }
  return text;
}

Goal changed(Goal goal, const GoalChange& change) {
  goal.objective = change.objective.value_or(goal.objective);
  if (change.objective) goal.objective_by_default = false;
  goal.energy_weight = change.energy_weight.value_or(goal.energy_weight);
  return goal;
}

Goal beside_server(Goal goal, const Goal& asked, Duration latency) {
  goal.arrivals_per_s = asked.arrivals_per_s;
  goal.one_by_one = asked.one_by_one;
  goal.latency = asked.latency;
  if (!goal.latency && latency > Duration::zero()) goal.latency = latency;
  return goal;
}

Goal with_default_objective(Goal goal, bool trains_and_serves) {
  if (!goal.objective_by_default) return goal;
  const bool beside_requests = trains_and_serves && goal.arrivals_per_s > 0 && goal.latency;
  goal.objective = beside_requests ? Objective::throughput : Objective::time;
  return goal;
}

std::string_view objection(const Goal& goal) {
  if (goal.objective == Objective::latency && goal.arrivals_per_s <= 0) {
    return "objective latency needs the rate at which requests arrive: of a server that "
           "reports its requests, or --rate of gearshift run";
  }
  if (goal.objective == Objective::target && goal.priced_power_mw <= 0 && goal.energy_weight < 1) {
    return "objective target needs the power that prices a second, the most the device may draw: "
           "--priced-power of gearshift run";
  }
  return {};
}

std::string_view objection(const Goal& goal, const GoalChange& change) {
  const Goal wanted = changed(goal, change);
  if (change.energy_weight && !wanted.weighs()) {
    return "the energy weight counts with objective weighted or target; change the objective too";
  }
  return objection(wanted);
}

}  // namespace gearshift

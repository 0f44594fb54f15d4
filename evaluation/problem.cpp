#include "evaluation/problem.h"

#include <chrono>

namespace gearshift {

Problem train_problem(std::int64_t power_mw) {
  return {.kind = Kind::train, .goal = {.objective = Objective::time, .power_mw = power_mw}};
}

Problem infer_problem(std::int64_t power_mw, Duration latency, double arrivals_per_s) {
  return {.kind = Kind::infer,
          .goal = {.objective = Objective::latency,
                   .power_mw = power_mw,
                   .latency = latency,
                   .arrivals_per_s = arrivals_per_s}};
}

Problem concurrent_problem(std::optional<std::int64_t> power_mw, Duration latency,
                           double arrivals_per_s) {
  return {.kind = Kind::infer,
          .goal = {.objective = Objective::throughput,
                   .power_mw = power_mw,
                   .latency = latency,
                   .arrivals_per_s = arrivals_per_s}};
}

Problem online_problem(std::optional<std::int64_t> power_mw, double energy_weight) {
  return {
      .kind = Kind::train,
      .goal = {
          .objective = Objective::weighted, .power_mw = power_mw, .energy_weight = energy_weight}};
}

double arrival_ms(const Problem& problem, std::int32_t batch_size) {
  return 1e3 * batch_size / problem.goal.arrivals_per_s;
}

bool keeps_power(const Problem& problem, const ProfileCell& cell) {
  return !problem.goal.power_mw ||
         1e3 * cell.power_w <= static_cast<double>(*problem.goal.power_mw);
}

double sample_s(const ProfileCell& cell) { return cell.minibatch_ms / 1e3 / cell.batch_size; }

bool keeps_energy(const Problem& problem, const ProfileCell& cell) {
  return !problem.goal.energy_j || sample_s(cell) * cell.power_w <= *problem.goal.energy_j;
}

bool keeps_pace(const Problem& problem, const ProfileCell& cell) {
  if (problem.kind == Kind::train || problem.goal.arrivals_per_s <= 0) return true;
  const double arrives_ms = arrival_ms(problem, cell.batch_size);
  if (cell.minibatch_ms > arrives_ms) return false;
  return !problem.goal.latency ||
         arrives_ms + cell.minibatch_ms <=
             std::chrono::duration<double, std::milli>(*problem.goal.latency).count();
}

}  // namespace gearshift

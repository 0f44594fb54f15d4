#include "evaluation/problem.h"

#include <chrono>

namespace gearshift {

double arrival_ms(const Problem& problem, std::int32_t batch_size) {
  return 1e3 * batch_size / problem.goal.arrivals_per_s;
}

// The quotient is the power that a table says by the same digits; a product of it may be more.
bool keeps_power(const Problem& problem, const ProfileCell& cell) {
  return !problem.goal.power_mw ||
         cell.power_w <= static_cast<double>(*problem.goal.power_mw) / 1e3;
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

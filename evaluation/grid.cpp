#include "evaluation/grid.h"

#include "evaluation/fingerprint.h"

namespace gearshift {
namespace {

std::uint64_t fingerprint(const Profile& profile) {
  Fingerprint print;
  print.add(profile.device).add(profile.workload).add(kind_name(profile.kind));
  for (const Knob& knob : profile.knobs().knobs) {
    print.add(knob.name);
    for (const std::int64_t value : knob.values) print.add(static_cast<std::uint64_t>(value));
  }
  for (const ProfileCell& cell : profile.cells()) {
    for (std::size_t i = 0; i < cell.mode.count; ++i) {
      print.add(static_cast<std::uint64_t>(cell.mode.values[i]));
    }
    print.add(static_cast<std::uint64_t>(cell.batch_size)).add(cell.minibatch_ms).add(cell.power_w);
  }
  return print.value();
}

}  // namespace

std::string settings_text(const Target& target, std::size_t settings) {
  std::string text = std::to_string(settings - target.filled) + " measured settings";
  if (target.filled == 0) return text;
  return text + ", " + std::to_string(target.filled) + " filled " + target.filled_from;
}

Case Grid::at(std::size_t index) const {
  Case one;
  one.seed = index % seeds.size();
  index /= seeds.size();
  one.problem = index % problems.size();
  index /= problems.size();
  one.workload = index % workloads.size();
  one.policy = index / workloads.size();
  return one;
}

CaseKeys::CaseKeys(const Grid& grid) : grid_(grid) {
  for (const Contestant& policy : grid.policies) {
    policies_.push_back(Fingerprint().add(policy.script).add(policy.text).value());
  }
  for (const Target& workload : grid.workloads) {
    workloads_.push_back(
        Fingerprint().add(fingerprint(workload.optimum.profile())).add(workload.beside).value());
  }
}

std::uint64_t CaseKeys::key(const Case& one) const {
  const Problem& problem = grid_.problems[one.problem];
  const Goal& goal = problem.goal;
  return Fingerprint()
      .add(policies_[one.policy])
      .add(workloads_[one.workload])
      .add(kind_name(problem.kind))
      .add(objective_name(goal.objective))
      .add(static_cast<std::uint64_t>(goal.power_mw.value_or(-1)))
      .add(static_cast<std::uint64_t>(goal.latency.value_or(Duration(-1)).count()))
      .add(goal.arrivals_per_s)
      .add(goal.energy_weight)
      .add(goal.energy_j.value_or(0))
      .add(grid_.seeds[one.seed])
      .add(grid_.conditions)
      .value();
}

}  // namespace gearshift

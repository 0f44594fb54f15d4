// Measured or modelled profiles as worlds that answer a policy, for tests of whole searches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/policy.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {

struct ProfileCell {
  double minibatch_ms = 0;
  double power_w = 0;
};

// What a search came to.
struct SearchOutcome {
  bool held = false;
  Setting setting;
  int measurements = 0;  // answers not from memory
  std::string failure;
};

// Answers a policy from a cost function, and from memory as the controller does: one that was cut
// short answers only while the cap is no looser than it was. A setting whose power is over the cap
// is cut short, as the guard does it: the policy learns that it was over, and nothing else.
class ProfileWorld {
 public:
  using CostOf = std::function<ProfileCell(const Setting&)>;
  ProfileWorld(PolicyProblem problem, CostOf cost_of)
      : problem_(std::move(problem)), cost_of_(std::move(cost_of)) {}

  SearchOutcome run(Policy& policy, std::int64_t cap_mw) {
    problem_.goal.power_mw = cap_mw;
    SearchOutcome outcome;
    std::vector<Observation> made;
    Request request = policy.start(problem_.context());
    while (request.what == Request::What::measure && outcome.measurements < 1000) {
      request = policy.resume(answer(request.setting, cap_mw, made, outcome));
    }
    outcome.held = request.what == Request::What::hold;
    outcome.setting = request.setting;
    outcome.failure = std::string(policy.failure());
    problem_.observations.insert(problem_.observations.end(), made.begin(), made.end());
    return outcome;
  }

  ProfileCell cell(const Setting& setting) const { return cost_of_(setting); }
  PolicyProblem& problem() { return problem_; }

 private:
  Observation answer(const Setting& setting, std::int64_t cap_mw, std::vector<Observation>& made,
                     SearchOutcome& outcome) {
    for (const auto* known : {&problem_.observations, &made}) {
      for (const Observation& one : *known) {
        if (one.setting == setting && (one.ok() || cap_mw <= one.limit_mw)) {
          Observation copy = one;
          copy.from_memory = true;
          return copy;
        }
      }
    }
    ++outcome.measurements;
    const ProfileCell cost = cost_of_(setting);
    Observation fresh = complete(setting, cost.minibatch_ms, cost.power_w);
    fresh.power_margin_mw = 0;
    if (fresh.power_mean_mw > cap_mw) fresh = cut_short(setting, Outcome::over_limit);
    fresh.limit_mw = cap_mw;
    made.push_back(fresh);
    return fresh;
  }

  PolicyProblem problem_;
  CostOf cost_of_;
};

// The middle and the mean of a list that need not be sorted.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

inline double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace gearshift

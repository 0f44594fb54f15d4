// Measured or modelled profiles as worlds that answer a policy, for tests of whole searches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "controller/policy.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {

// What a setting costs in truth. A time of 0 is a setting that the board refuses.
struct TrueCost {
  double minibatch_ms = 0;
  double power_w = 0;
};

// What a search came to.
struct SearchOutcome {
  bool held = false;
  Setting setting;
  int measurements = 0;  // answers not from memory
  int over_limit = 0;    // of these, cut short
  std::string failure;
};

// Answers a policy from a cost function, and from memory as the controller does: one that was cut
// short answers only while the cap is no looser than it was. A setting whose power is over the cap
// is cut short, as the guard does it: the policy learns what was read by then. So is one that is
// late where requests come one by one, before a minibatch has ended.
class ProfileWorld {
 public:
  using CostOf = std::function<TrueCost(const Setting&)>;
  ProfileWorld(PolicyProblem problem, CostOf cost_of)
      : problem_(std::move(problem)), cost_of_(std::move(cost_of)) {}

  SearchOutcome run(Policy& policy, std::int64_t cap_mw) {
    problem_.goal.power_mw = cap_mw;
    return run(policy);
  }

  // To the goal of the problem.
  SearchOutcome run(Policy& policy) {
    SearchOutcome outcome;
    std::vector<Observation> made;
    Request request = policy.start(problem_.context());
    while (asks(request) && outcome.measurements < 100'000) {
      request = policy.resume(answer(request, made, outcome));
    }
    outcome.held = request.what == Request::What::hold;
    outcome.setting = request.setting;
    outcome.failure = std::string(policy.failure());
    problem_.observations.insert(problem_.observations.end(), made.begin(), made.end());
    return outcome;
  }

  // A complete measurement of the true cost, whatever the goal says.
  Observation truth(const Setting& setting) const {
    const TrueCost cost = cost_of_(setting);
    if (cost.minibatch_ms <= 0) return cut_short(setting, Outcome::refused);
    Observation fresh = complete(setting, cost.minibatch_ms, cost.power_w, problem_.trainer.kind);
    fresh.power_margin_mw = 0;
    return fresh;
  }
  PolicyProblem& problem() { return problem_; }

 private:
  // Of its power, what the mean of a window shows when a setting is cut (median of 118).
  static constexpr std::int64_t kReadPercent = 93;
  static bool asks(const Request& request) {
    return request.what == Request::What::measure || request.what == Request::What::remeasure;
  }

  Observation answer(const Request& request, std::vector<Observation>& made,
                     SearchOutcome& outcome) {
    const std::int64_t cap_mw = problem_.goal.power_mw.value_or(0);
    if (request.what == Request::What::measure) {
      for (const auto* known : {&problem_.observations, &made}) {
        for (const Observation& one : *known) {
          if (one.setting == request.setting && one.answers(cap_mw, problem_.goal.arrivals_per_s)) {
            Observation copy = one;
            copy.from_memory = true;
            return copy;
          }
        }
      }
    }
    ++outcome.measurements;
    Observation fresh = truth(request.setting);
    if (fresh.ok() && !fresh.within(cap_mw)) {
      const std::int64_t read_mw = std::max(cap_mw + 1, fresh.power_mean_mw * kReadPercent / 100);
      fresh = cut_short(request.setting, Outcome::over_limit);
      fresh.power_mean_mw = fresh.power_max_mw = read_mw;
      ++outcome.over_limit;
    }
    const Goal& goal = problem_.goal;
    if (fresh.ok() && goal.one_by_one && !(fresh.keeps_up(goal) && fresh.answers_in_time(goal))) {
      fresh = cut_short(request.setting, Outcome::late);
      fresh.late_per_s = goal.arrivals_per_s;
    }
    fresh.limit_mw = cap_mw;
    made.push_back(fresh);
    return fresh;
  }

  PolicyProblem problem_;
  CostOf cost_of_;
};

// The middle and the mean of a list that need not be sorted.
inline double median(std::vector<double> values) {
  if (values.empty()) return NAN;
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

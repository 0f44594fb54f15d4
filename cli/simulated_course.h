// What was trained beside requests from change to change of a simulated pair's world: of the rate
// that requests come at, of the cap, and of what the workloads cost.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "limits/schedule_limit.h"
#include "simulator/interleaved_optimum.h"

namespace gearshift {

class SimulatedCourse {
 public:
  // The problem has arrivals. `caps` are those of the whole run, in the order of time; empty: the
  // goal's throughout.
  SimulatedCourse(const SimulationProblem& problem, const std::vector<ScheduleStep>& caps);

  // To be told at the end of each tick.
  void observe(const Plant& plant, const Status& status);

  // A list of the phases that began: begin_s, end_s, rate_per_s, cap_w, minibatches_per_s and the
  // optimum of the same, null where no setting keeps the limits.
  nlohmann::json to_json() const;
  // The same as a table for people, and the whole run's share of the optimum.
  std::string text() const;

 private:
  struct Phase {
    Time begin{};
    Time end{};
    double rate_per_s = 0;
    std::optional<std::int64_t> cap_mw;
    std::optional<InterleavedOptimum> best;
    double minibatches = 0;

    double minibatches_per_s() const;
  };
  std::size_t begun() const;

  std::vector<Phase> phases_;
  std::size_t now_ = 0;  // the phase under way
  std::uint64_t counted_ = 0;
  Time end_{};
};

}  // namespace gearshift

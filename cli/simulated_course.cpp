#include "cli/simulated_course.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace gearshift {
namespace {

using nlohmann::json;

const ArrivalSpec& arrivals_of(const SimulationProblem& problem) {
  for (const SimulatedTask& task : problem.tasks) {
    if (task.arrivals) return *task.arrivals;
  }
  throw std::logic_error("a course without arrivals");
}

// When something becomes another thing, each time once, the beginning first.
std::vector<Time> changes_of(const SimulationProblem& problem,
                             const std::vector<ScheduleStep>& caps) {
  std::vector<Time> times = {Time{}};
  const auto add = [&](Time time) {
    if (time < Time{} + problem.most_duration) times.push_back(time);
  };
  for (const Burst& burst : arrivals_of(problem).bursts) {
    add(burst.begin);
    add(burst.begin + burst.length);
  }
  for (const ScheduleStep& step : caps) add(Time{} + step.after);
  for (const SimulatedTask& task : problem.tasks) {
    for (const CostChange& change : task.changes) {
      add(change.begin);
      if (change.end != Time::max()) add(change.end);
    }
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

double rate_at(const ArrivalSpec& arrivals, Time time) {
  double rate = arrivals.mean_rate_per_s();
  for (const Burst& burst : arrivals.bursts) {
    if (burst.begin <= time && time < burst.begin + burst.length) rate *= burst.factor;
  }
  return rate;
}

}  // namespace

double SimulatedCourse::Phase::minibatches_per_s() const {
  return minibatches / std::max(seconds(end - begin), 1e-9);
}

SimulatedCourse::SimulatedCourse(const SimulationProblem& problem,
                                 const std::vector<ScheduleStep>& caps) {
  for (const Time begin : changes_of(problem, caps)) {
    Phase phase{.begin = begin,
                .end = Time{} + problem.most_duration,
                .rate_per_s = rate_at(arrivals_of(problem), begin),
                .cap_mw = problem.goal.power_mw,
                .best = {}};
    for (const ScheduleStep& step : caps) {
      if (Time{} + step.after <= begin) phase.cap_mw = step.power_mw;
    }
    Goal goal = problem.goal;
    goal.power_mw = phase.cap_mw;
    goal.arrivals_per_s = phase.rate_per_s;
    phase.best = interleaved_optimum(problem, goal, Beside::requests, begin);
    if (!phases_.empty()) phases_.back().end = begin;
    phases_.push_back(phase);
  }
}

void SimulatedCourse::observe(const Plant& plant, const Status& status) {
  std::uint64_t count = 0;
  for (const SimulatedWorkload& workload : plant.workloads()) {
    if (workload.hello().kind == Kind::train) count += workload.minibatches();
  }
  while (now_ + 1 < phases_.size() && status.time > phases_[now_ + 1].begin) ++now_;
  phases_[now_].minibatches += static_cast<double>(count - counted_);
  counted_ = count;
  end_ = status.time;
}

std::size_t SimulatedCourse::begun() const { return now_ + 1; }

json SimulatedCourse::to_json() const {
  json list = json::array();
  for (std::size_t i = 0; i < begun(); ++i) {
    Phase phase = phases_[i];
    phase.end = std::min(phase.end, end_);
    list.push_back(
        {{"begin_s", seconds(phase.begin - Time{})},
         {"end_s", seconds(phase.end - Time{})},
         {"arrivals_per_s", phase.rate_per_s},
         {"cap_w", phase.cap_mw ? json(static_cast<double>(*phase.cap_mw) / 1000) : json()},
         {"minibatches_per_s", phase.minibatches_per_s()},
         {"optimum", phase.best ? json(phase.best->cost.minibatches_per_s) : json()}});
  }
  return list;
}

std::string SimulatedCourse::text() const {
  std::string text = "  trained, minibatches a second, and of the optimum\n";
  double asked = 0;
  double done = 0;
  for (std::size_t i = 0; i < begun(); ++i) {
    Phase phase = phases_[i];
    phase.end = std::min(phase.end, end_);
    const std::string cap =
        phase.cap_mw ? fmt::format("{:6.1f} W", static_cast<double>(*phase.cap_mw) / 1000)
                     : "  no cap";
    text += fmt::format("    {:6.0f} s to {:6.0f} s {:6.1f} requests/s {}  {:8.2f}",
                        seconds(phase.begin - Time{}), seconds(phase.end - Time{}),
                        phase.rate_per_s, cap, phase.minibatches_per_s());
    if (!phase.best) {
      text += "  no setting keeps the limits\n";
      continue;
    }
    const double best = phase.best->cost.minibatches_per_s;
    const double span_s = seconds(phase.end - phase.begin);
    asked += best * span_s;
    done += phase.minibatches_per_s() * span_s;
    text += fmt::format(" of {:8.2f} {:6.1f} %\n", best,
                        best > 0 ? 100 * phase.minibatches_per_s() / best : 100.0);
  }
  if (asked > 0) text += fmt::format("    the whole{:61.1f} %\n", 100 * done / asked);
  return text;
}

}  // namespace gearshift

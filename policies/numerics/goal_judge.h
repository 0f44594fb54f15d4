// What a goal says of a cost in logarithms: its value, and the longest minibatch that is in time.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "controller/goal.h"
#include "controller/interleaving.h"
#include "controller/observation.h"
#include "controller/setting.h"

namespace gearshift {

// Log times are of a minibatch in ms, log powers in W; all are natural logarithms.
struct GoalJudge {
  // `limit_w`: what mean power must keep; infinity: none.
  GoalJudge(const Goal& of, Kind of_kind, double limit_w)
      : goal(of),
        kind(of_kind),
        log_limit(std::log(limit_w)),
        waits(kind == Kind::infer && goal.arrivals_per_s > 0) {}

  const Goal& goal;
  Kind kind;
  double log_limit;
  bool waits;

  // Whether a setting that keeps the power limit may still break the goal.
  bool asks_more() const { return waits || goal.energy_j.has_value(); }
  double wait_ms(double batch_size) const { return 1e3 * batch_size / goal.arrivals_per_s; }
  // The longest time of a minibatch that keeps up and answers in time, full or, where requests come
  // one by one, half full (controller/interleaving.h); infinity: any.
  double most_ms(double batch_size) const {
    if (!waits) return std::numeric_limits<double>::infinity();
    const double wait = wait_ms(batch_size);
    const double busy = goal.most_busy() * wait;
    if (!goal.latency) return busy;
    const double latency = 1e3 * gearshift::seconds(*goal.latency);
    const double full = std::min(busy, latency - wait);
    if (!goal.one_by_one) return full;
    const double half_full = 1e3 * gearshift::seconds(planned_latency(*goal.latency)) - wait / 2;
    // No full batch in time shows that they do not queue up.
    return std::max(full, std::min(kMostBusy * wait, half_full));
  }
  bool full_in_time(double batch_size, double time_ms) const {
    return !goal.latency ||
           wait_ms(batch_size) + time_ms <= 1e3 * gearshift::seconds(*goal.latency);
  }
  // Of a sample's energy over the most that the goal allows; minus infinity: any.
  double log_energy_over(double batch_size, double log_time, double log_power) const {
    if (!goal.energy_j) return -std::numeric_limits<double>::infinity();
    return log_drawn_s(log_sample_s(batch_size, log_time)) + log_power - std::log(*goal.energy_j);
  }
  // Of Observation::value: seconds, joules or a mixture.
  double log_value(double batch_size, double log_time, double log_power) const {
    if (latency_counts()) {
      return std::log(goal.counted_latency_s(batch_size, std::exp(log_time) / 1e3));
    }
    const double log = log_sample_s(batch_size, log_time);
    const double drawn = log_drawn_s(log);
    if (goal.objective == Objective::energy) return drawn + log_power;
    return mixes() ? std::log(goal.cost(std::exp(log), std::exp(drawn + log_power))) : log;
  }
  // Standard deviation of the logarithm of the value, to first order, from those of log time and
  // log power, which are independent.
  double deviation(double batch_size, double log_time, double log_power, double time,
                   double power) const {
    const bool pausing = pauses(std::exp(log_sample_s(batch_size, log_time)));
    if (goal.objective == Objective::energy) return pausing ? power : std::hypot(time, power);
    if (mixes() && pausing) {
      const double time_s = std::exp(log_time) / 1e3 / batch_size;
      const double joules = goal.drawn_s(kind, time_s) * std::exp(log_power);
      const double time_share = goal.cost(time_s, 0) / goal.cost(time_s, joules);
      return std::hypot(time_share * time, (1 - time_share) * power);
    }
    if (mixes()) {
      const double energy_share = 1 - goal.cost(1, 0) / goal.cost(1, std::exp(log_power));
      return std::hypot(time, energy_share * power);
    }
    if (!latency_counts()) return time;
    // Queues: a first order would promise settings that keep up by luck far too much.
    if (goal.one_by_one) {
      return log_value(batch_size, log_time, log_power) -
             log_value(batch_size, log_time - time, log_power);
    }
    const double time_ms = std::exp(log_time);
    return time * time_ms / (wait_ms(batch_size) + time_ms);
  }

 private:
  // One by one, requests of a server whose batches of that size take less time than to come: what
  // is drawn until the next one comes is a request's, however long its minibatch takes. Mean power
  // is learnt with these pauses.
  bool pauses(double sample_s) const {
    return goal.one_by_one && sample_s < goal.drawn_s(kind, sample_s);
  }
  double log_sample_s(double batch_size, double log_time) const {
    return log_time - std::log(1e3) - std::log(batch_size);
  }
  // Of Goal::drawn_s. Like clockwork it is the time itself.
  double log_drawn_s(double log_s) const {
    return goal.one_by_one ? std::log(goal.drawn_s(kind, std::exp(log_s))) : log_s;
  }
  bool latency_counts() const { return goal.objective == Objective::latency && waits; }
  // Of time and energy. Until its reference is known a weighted goal counts time.
  bool mixes() const {
    return goal.objective == Objective::target ||
           (goal.objective == Objective::weighted && goal.has_reference());
  }
};

// What a minibatch takes more than, in ms: of inference alone that was cut short for late requests,
// the longest that keeps up and answers in time at the rate at which they were late, under this
// goal's latency limit. 0 of all else.
inline double slower_than_ms(const Observation& answer, const Goal& goal) {
  const bool late = answer.outcome == Outcome::late && answer.setting.run == Run::infer;
  if (!late || answer.late_per_s <= 0) return 0;
  Goal then = goal;
  then.arrivals_per_s = answer.late_per_s;
  const GoalJudge judge(then, Kind::infer, std::numeric_limits<double>::infinity());
  const double most = judge.most_ms(answer.setting.batch_size[index(Kind::infer)]);
  return std::isfinite(most) ? std::max(0.0, most) : 0;
}

}  // namespace gearshift

#include "controller/observation.h"

#include <cmath>
#include <limits>

#include "controller/interleaving.h"
#include "controller/whole_minibatches.h"

namespace gearshift {
namespace {

// How long half of a batch of requests takes to come.
Duration half_batch(const Setting& setting, const Goal& goal) {
  return Duration(std::llround(5e8 * setting.batch_size[index(Kind::infer)] / goal.arrivals_per_s));
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::complete:
      return "complete";
    case Outcome::over_limit:
      return "over_limit";
    case Outcome::refused:
      return "refused";
    case Outcome::not_applied:
      return "not_applied";
    case Outcome::timed_out:
      return "timed_out";
    case Outcome::stalled:
      return "stalled";
    case Outcome::outside_writer:
      return "outside_writer";
    case Outcome::goal_changed:
      return "goal_changed";
    case Outcome::workload_changed:
      return "workload_changed";
    case Outcome::power_unknown:
      return "power_unknown";
    case Outcome::late:
      return "late";
  }
  return "unknown";
}

std::optional<Outcome> outcome_from_word(std::string_view word) {
  for (std::uint8_t i = 0; i < kOutcomes; ++i) {
    if (outcome_name(static_cast<Outcome>(i)) == word) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

double Observation::sample_s(Kind kind) const {
  const Cost& of_kind = cost[index(kind)];
  const std::int32_t batch_size = setting.batch_size[index(kind)];
  if (!ok() || of_kind.minibatches == 0 || batch_size <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  return seconds(of_kind.minibatch_mean) / batch_size;
}

double Observation::sample_j(Kind kind) const {
  const double time_s = sample_s(kind);
  // A failed observation has no power either, and infinity times zero is a NaN.
  return std::isinf(time_s) ? time_s : time_s * static_cast<double>(power_mean_mw) / 1000.0;
}

Kind Observation::energy_kind(const Goal& goal) const {
  const bool serves = goal.objective == Objective::latency && goal.arrivals_per_s > 0 &&
                      cost[index(Kind::infer)].minibatches > 0;
  return serves ? Kind::infer : counted();
}

double Observation::energy_j(const Goal& goal) const {
  const Kind kind = energy_kind(goal);
  const double time_s = sample_s(kind);
  if (std::isinf(time_s)) return time_s;
  return goal.drawn_s(kind, time_s) * static_cast<double>(power_mean_mw) / 1000.0;
}

double Observation::latency_s(double arrivals_per_s) const {
  const double time_s = sample_s(Kind::infer);
  if (std::isinf(time_s) || arrivals_per_s <= 0) return std::numeric_limits<double>::infinity();
  return (time_s + 1 / arrivals_per_s) * setting.batch_size[index(Kind::infer)];
}

bool Observation::keeps_energy(const Goal& goal) const {
  return !goal.energy_j || energy_j(goal) <= *goal.energy_j;
}

bool Observation::keeps_up(const Goal& goal) const {
  if (goal.arrivals_per_s <= 0) return true;
  if (cost[index(Kind::infer)].minibatches == 0) return !waits(Kind::infer);
  const double most_busy = counted() == Kind::infer ? goal.most_busy() : 1;
  return sample_s(Kind::infer) * goal.arrivals_per_s <= most_busy;
}

bool Observation::answers_in_time(const Goal& goal) const {
  if (goal.arrivals_per_s <= 0 || cost[index(Kind::infer)].minibatches == 0) return true;
  return goal.answers_in_time(setting.batch_size[index(Kind::infer)],
                              seconds(cost[index(Kind::infer)].minibatch_mean));
}

bool Observation::keeps(const Goal& goal) const {
  return within(goal.power_mw.value_or(0)) && !known_late(goal.arrivals_per_s) &&
         keeps_energy(goal) && keeps_up(goal) && answers_in_time(goal);
}

double Observation::interleaved_sample_s(const Goal& goal) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const double train_sample_s = sample_s(Kind::train);
  const double infer_sample_s = sample_s(Kind::infer);
  const double arrivals_per_s = goal.arrivals_per_s;
  if (std::isinf(train_sample_s) || std::isinf(infer_sample_s) || arrivals_per_s <= 0)
    return kNever;
  if (goal.one_by_one) {
    const double left = 1 - arrivals_per_s * infer_sample_s;
    const Duration latency = goal.latency.value_or(Duration::zero());
    const bool trains = cost[index(Kind::train)].minibatch_mean <=
                        longest_beside_half_full(latency, half_batch(setting, goal),
                                                 cost[index(Kind::infer)].minibatch_mean);
    if (left <= 0 || !trains) return kNever;
    const bool full = !goal.latency || latency_s(arrivals_per_s) <= seconds(*goal.latency);
    return train_sample_s / left / (full ? 1 : kWorthNotFull);
  }
  const double train_samples = setting.batch_size[index(Kind::train)];
  const double requests = setting.batch_size[index(Kind::infer)];
  const std::int64_t minibatches =
      whole_minibatches(1e3 * requests / arrivals_per_s, 1e3 * infer_sample_s * requests,
                        1e3 * train_sample_s * train_samples);
  if (minibatches < 1) return kNever;
  return requests / arrivals_per_s / (static_cast<double>(minibatches) * train_samples);
}

double Observation::value(const Goal& goal) const {
  const bool trains = setting.batch_size[index(Kind::train)] > 0;
  const bool serves = setting.batch_size[index(Kind::infer)] > 0 && goal.arrivals_per_s > 0;
  const bool beside = trains && (waits(Kind::infer) || cost[index(Kind::infer)].minibatches > 0);
  if (goal.objective == Objective::throughput && serves && beside) {
    return interleaved_sample_s(goal);
  }
  if (goal.objective == Objective::latency && serves) {
    const double batch_size = setting.batch_size[index(Kind::infer)];
    return goal.counted_latency_s(batch_size, batch_size * sample_s(Kind::infer));
  }
  if (ok() && job.state != JobState::none) {
    const double epoch_s = seconds(job.epoch);
    return goal.cost(epoch_s, epoch_s * static_cast<double>(power_mean_mw) / 1000.0);
  }
  // Training that waits is worth nothing, and keeps what is: a request's time or energy is none of
  // a training sample.
  if (trains && counted() != Kind::train) return std::numeric_limits<double>::infinity();
  return goal.cost(sample_s(counted()), energy_j(goal));
}

}  // namespace gearshift

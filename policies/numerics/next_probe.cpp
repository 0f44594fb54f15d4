#include "policies/numerics/next_probe.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "policies/numerics/normal.h"

namespace gearshift {
namespace {

constexpr double kHuge = std::numeric_limits<double>::infinity();
// Settings whose mean power is farther over the limit than e^this are not looked at closely, nor
// those that are so late.
constexpr double kFarOver = 0.16;
constexpr double kFarLate = 0.4;
// How much a setting over the limit on average counts as slower in the choice of those looked at.
constexpr double kOverWeight = 1.25;
// What a setting that is no better than the slowest one still counts while nothing is known to keep
// the goal.
constexpr double kLeastImprovement = 0.05;

// The goal, in logarithms.
struct Judge {
  Judge(const Goal& of, Kind of_kind, double limit_w)
      : goal(of),
        kind(of_kind),
        log_limit(std::log(limit_w)),
        waits(kind == Kind::infer && goal.arrivals_per_s > 0) {}

  const Goal& goal;
  Kind kind;
  double log_limit;
  bool waits;

  double wait_ms(double batch_size) const { return 1e3 * batch_size / goal.arrivals_per_s; }
  // The longest time of a minibatch that keeps up and answers in time; infinity: any.
  double most_ms(double batch_size) const {
    if (!waits) return kHuge;
    const double wait = wait_ms(batch_size);
    if (!goal.latency) return wait;
    return std::min(wait, 1e3 * seconds(*goal.latency) - wait);
  }
  bool latency_counts() const { return goal.objective == Objective::latency && waits; }
  // Of time and energy. Until its reference is known a weighted goal counts time.
  bool mixes() const {
    return goal.objective == Objective::target ||
           (goal.objective == Objective::weighted && goal.has_reference());
  }
  // Natural logarithm of a sample's energy over the most the goal allows.
  double log_energy_over(double batch_size, double log_time, double log_power) const {
    if (!goal.energy_j) return -kHuge;
    return log_time + log_power - std::log(1e3 * batch_size * *goal.energy_j);
  }
  // As Observation::value: seconds, joules or a mixture.
  double log_value(double batch_size, double log_time, double log_power) const {
    if (latency_counts()) return std::log((wait_ms(batch_size) + std::exp(log_time)) / 1e3);
    double log = log_time - std::log(1e3);
    if (goal.objective != Objective::latency) log -= std::log(batch_size);
    if (goal.objective == Objective::energy) log += log_power;
    return mixes() ? std::log(goal.cost(std::exp(log), std::exp(log + log_power))) : log;
  }
  // Standard deviation of the logarithm of the value.
  double deviation(double batch_size, double log_time, double log_power, double time,
                   double power) const {
    if (goal.objective == Objective::energy) return std::hypot(time, power);
    if (mixes()) {
      const double energy_share = 1 - goal.cost(1, 0) / goal.cost(1, std::exp(log_power));
      return std::hypot(time, energy_share * power);
    }
    if (!latency_counts()) return time;
    const double time_ms = std::exp(log_time);
    return time * time_ms / (wait_ms(batch_size) + time_ms);
  }
};

double odds_below(double log_limit, double log_mean, double deviation) {
  return log_limit == kHuge ? 1 : normal_odds((log_limit - log_mean) / deviation);
}

// How far below the limit mean power must be (natural logarithm) of the settings looked at, where
// none of those nearer to it has the odds that are asked for. The first is no such bound.
constexpr double kBelow[] = {0, 0.03, 0.08, 0.15, 0.3};

// Settings worth a closer look, best first, and the worst mean value among them.
std::vector<std::size_t> screened(const CostProcess& process, const Judge& judge,
                                  std::span<const std::uint8_t> excluded, bool safest, double below,
                                  double& worst_log) {
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < process.size(); ++i) {
    const double most_ms = judge.most_ms(process.batch_size(i));
    if (excluded[i] != 0 || most_ms <= 0) continue;
    const CostProcess::Mean mean = process.mean(i);
    const double over = judge.log_limit == kHuge ? -kHuge : mean.log_power - judge.log_limit;
    const double late =
        std::max(most_ms == kHuge ? -kHuge : mean.log_time - std::log(most_ms),
                 judge.log_energy_over(process.batch_size(i), mean.log_time, mean.log_power));
    if (safest) {
      ranked.emplace_back(std::max(over, late / 2), i);
      continue;
    }
    if (over > (below > 0 ? -below : kFarOver) || late > kFarLate) continue;
    const double value = judge.log_value(process.batch_size(i), mean.log_time, mean.log_power);
    ranked.emplace_back(value + kOverWeight * std::max(0.0, over), i);
  }
  const std::size_t count = std::min(kMostProbed, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count),
                    ranked.end());
  ranked.resize(count);
  worst_log = ranked.empty() ? 0 : ranked.back().first;
  std::vector<std::size_t> settings;
  for (const auto& [value, setting] : ranked) settings.push_back(setting);
  return settings;
}

// What the samples say of one setting.
Probe weigh(const CostProcess& process, const Judge& judge, std::size_t setting,
            const CostSamples& samples, double best_log, double least_improvement) {
  Probe probe{.setting = setting};
  const double batch_size = process.batch_size(setting);
  const double log_most_ms = std::log(judge.most_ms(batch_size));
  double log_time = 0, log_power = 0, time_square = 0, power_square = 0;
  for (std::size_t k = 0; k < samples.log_time.size(); ++k) {
    const double weight = process.weights()[k];
    const double time = samples.log_time[k];
    const double power = samples.log_power[k];
    const double fits = odds_below(judge.log_limit, power, samples.power_deviation);
    const double thrifty = odds_below(0, judge.log_energy_over(batch_size, time, power),
                                      std::hypot(samples.time_deviation, samples.power_deviation));
    const double keeps = fits * odds_below(log_most_ms, time, samples.time_deviation) * thrifty;
    const double ahead = best_log - judge.log_value(batch_size, time, power);
    const double deviation =
        judge.deviation(batch_size, time, power, samples.time_deviation, samples.power_deviation);
    const double score = ahead / deviation;
    const double improvement =
        least_improvement > 0 ? ahead + least_improvement
                              : deviation * (score * normal_odds(score) + normal_density(score));
    probe.gain += weight * improvement * keeps;
    probe.power_odds += weight * fits;
    probe.odds += weight * keeps;
    log_time += weight * time;
    log_power += weight * power;
    time_square += weight * time * time;
    power_square += weight * power * power;
  }
  probe.minibatch_ms = std::exp(log_time);
  probe.power_w = std::exp(log_power);
  probe.time_deviation = std::hypot(samples.time_deviation,
                                    std::sqrt(std::max(0.0, time_square - log_time * log_time)));
  probe.power_deviation = std::hypot(
      samples.power_deviation, std::sqrt(std::max(0.0, power_square - log_power * log_power)));
  return probe;
}

struct Search {
  const CostProcess& process;
  const Judge judge;
  std::span<const std::uint8_t> excluded;
  const ProbeTerms& terms;

  // The best of the settings that pass one screen; nullopt where none has the odds.
  std::optional<Probe> best_of(bool safest, double below) const {
    double worst_log = 0;
    std::optional<Probe> best;
    double most = -kHuge;
    CostSamples samples;
    for (const std::size_t setting : screened(process, judge, excluded, safest, below, worst_log)) {
      process.sample(setting, samples);
      samples.time_deviation *= terms.doubt;
      samples.power_deviation *= terms.doubt;
      Probe probe = weigh(process, judge, setting, samples, terms.best_log.value_or(worst_log),
                          terms.best_log ? 0 : kLeastImprovement);
      if (terms.best_log) {
        probe.gain -= terms.price * (1 - probe.power_odds);
      } else {
        probe.gain *= probe.power_odds;
      }
      const double worth = safest ? probe.odds : probe.gain;
      const bool likely =
          safest ? probe.odds >= *terms.safest_odds : probe.power_odds >= terms.least_odds;
      if (!likely || !(worth > most)) continue;
      most = worth;
      best = probe;
    }
    return best;
  }
};

}  // namespace

std::optional<Probe> next_probe(const CostProcess& process, const Goal& goal, Kind kind,
                                std::span<const std::uint8_t> excluded, const ProbeTerms& terms) {
  assert(excluded.size() == process.size());
  const Search search{process, Judge(goal, kind, terms.limit_w), excluded, terms};
  for (const double below : kBelow) {
    const std::optional<Probe> best = search.best_of(false, below);
    if (best || search.judge.log_limit == kHuge) return best;
  }
  return terms.safest_odds ? search.best_of(true, 0) : std::nullopt;
}

}  // namespace gearshift

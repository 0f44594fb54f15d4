#include "policies/numerics/interleaved_probe.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "controller/interleaving.h"
#include "policies/numerics/elementary.h"
#include "policies/numerics/goal_judge.h"
#include "policies/numerics/normal.h"
#include "policies/numerics/probe_screen.h"

namespace gearshift {
namespace {

// So many settings are looked at closely: those that promise most on average, and those nearest to
// keeping the goal.
constexpr std::size_t kPromising = 160, kSafe = 100;
constexpr double kFarLateBeside = 0.4;
// Of the time that requests have: what they leave beyond it is headroom enough, and what headroom
// gains, as a share of the training that the whole time would have room for.
constexpr double kLightLoad = 0.5, kHeadroomWeight = 0.05;
// While nothing keeps the goal: what promises most is measured where its odds are so much of the
// likeliest setting's, and one with the odds of power that are asked where its odds are so much of
// what is likeliest without asking.
constexpr double kFairShareBeside = 1, kBoldShare = 0.7;
// How unsure a mean is taken to be where settings are only ranked.
constexpr double kRoughly = 0.06;
// Places of equal probability of an inference time that is in time.
constexpr std::array<double, 5> kQuantiles = {0.1, 0.3, 0.5, 0.7, 0.9};
constexpr double kWide = 4;  // standard deviations that count
constexpr int kMostTerms = 200;
constexpr std::size_t kLooksBeside = 15;  // settings that tell how unsure times are

// Of the logarithm of an inference time, as it is believed in the middle one of some settings.
double typical_deviation(const InterleavedProcess& process, double doubt) {
  std::vector<double> deviations;
  for (std::size_t k = 0; k < kLooksBeside; ++k) {
    const std::size_t setting = (2 * k + 1) * process.size() / (2 * kLooksBeside);
    deviations.push_back(process.infer_time(setting, doubt).deviation);
  }
  const auto middle = deviations.begin() + kLooksBeside / 2;
  std::nth_element(deviations.begin(), middle, deviations.end());
  return *middle;
}

struct SearchBeside {
  const InterleavedProcess& process;
  const GoalJudge judge;
  std::span<const std::uint8_t> excluded;
  const InterleavedTerms& terms;
  // Of the logarithm of an inference time: how far off it may be, typically.
  double time_deviation = kFarLateBeside;

  double windows_per_s(std::size_t setting) const {
    return judge.goal.arrivals_per_s / process.infer_batch(setting);
  }
  // What is expected beyond `best` training minibatches a second, where a batch of requests takes
  // `infer_ms`.
  double gain(std::size_t setting, double infer_ms, double best, const LogBelief& train) const {
    const double window_ms = judge.wait_ms(process.infer_batch(setting)) - infer_ms;
    if (!judge.goal.one_by_one) {
      return expected_gain(window_ms, windows_per_s(setting), best, train);
    }
    const double worth =
        judge.full_in_time(process.infer_batch(setting), infer_ms) ? 1 : kWorthNotFull;
    return expected_gain_of_all(worth * window_ms * windows_per_s(setting), best, train) *
           odds_to_fit(setting, infer_ms, train);
  }
  // That training runs before batches of requests that are half full.
  double odds_to_fit(std::size_t setting, double infer_ms, const LogBelief& train) const {
    if (!judge.goal.latency) return 1;
    // No minibatch that is believed in takes a day.
    const auto of_ms = [](double ms) { return Duration(std::llround(1e6 * std::min(ms, 1e8))); };
    const Duration most = longest_beside_half_full(
        *judge.goal.latency, of_ms(judge.wait_ms(process.infer_batch(setting)) / 2),
        of_ms(infer_ms));
    const double most_ms = 1e3 * seconds(most);
    return most_ms > 0 ? normal_odds((std::log(most_ms) - train.mean) / train.deviation) : 0;
  }
  // What serves most surely may leave no room to train, where requests come one by one.
  double odds_to_train(std::size_t setting) const {
    if (!judge.goal.one_by_one) return 1;
    const double doubt = terms.probe.doubt;
    return odds_to_fit(setting, std::exp(process.infer_time(setting, doubt).mean),
                       process.train_time(setting, doubt));
  }
  // What is gained by the time that inference of `infer_ms` a batch leaves beyond what the best
  // does, where requests come in bursts.
  double headroom(std::size_t setting, double infer_ms) const {
    if (!terms.best_busy_ms) return 0;
    const auto load = [&](double busy_ms) {
      return std::max(judge.goal.arrivals_per_s * busy_ms / 1e3, kLightLoad);
    };
    const double saved = load(*terms.best_busy_ms) - load(infer_ms / process.infer_batch(setting));
    return kHeadroomWeight * std::max(0.0, saved);
  }
  double promise(std::size_t setting, const InterleavedProcess::Mean& mean) const {
    const double infer_ms = std::exp(mean.log_infer_ms);
    return gain(setting, infer_ms, 0, {mean.log_train_ms, kRoughly}) +
           headroom(setting, infer_ms) * 1e3 / std::exp(mean.log_train_ms);
  }
  // How far from keeping the goal: roughly minus the logarithm of the odds.
  double unlikely(double over, double late) const {
    constexpr double kLeast = 1e-12;
    return -std::log(normal_odds(-over / kRoughly) + kLeast) -
           std::log(normal_odds(-late / time_deviation) + kLeast);
  }
  std::vector<std::size_t> screened(bool safest, double below) const;
  Probe weigh(std::size_t setting, double scale) const;
  // `desperate`: whatever the odds of power.
  std::optional<Probe> best_of(bool safest, double below, bool desperate = false) const;
};

std::vector<std::size_t> SearchBeside::screened(bool safest, double below) const {
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < process.size(); ++i) {
    const double most_ms = judge.most_ms(process.infer_batch(i));
    if (excluded[i] != 0 || most_ms <= 0) continue;
    const InterleavedProcess::Mean mean = process.mean(i);
    const double over = judge.log_limit == kHuge ? -kHuge : mean.log_power - judge.log_limit;
    const double late = mean.log_infer_ms - std::log(most_ms);
    if (safest) {
      ranked.emplace_back(unlikely(over, late), i);
      continue;
    }
    if (over > (below > 0 ? -below : kFarOver) || late > std::max(kFarLateBeside, time_deviation))
      continue;
    ranked.emplace_back(-promise(i, mean) * std::exp(-kOverWeight * std::max(0.0, over)), i);
  }
  const std::size_t count = std::min(safest ? kSafe : kPromising, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count),
                    ranked.end());
  std::vector<std::size_t> settings;
  for (std::size_t i = 0; i < count; ++i) settings.push_back(ranked[i].second);
  return settings;
}

// `scale`: a gain of so many minibatches a second counts as 1; 0: it is what is returned.
Probe SearchBeside::weigh(std::size_t setting, double scale) const {
  const double doubt = terms.probe.doubt;
  const double batch_size = process.infer_batch(setting);
  const LogBelief train = process.train_time(setting, doubt);
  const LogBelief infer = process.infer_time(setting, doubt);
  Probe probe{.setting = setting};
  probe.power_odds = process.power_odds(setting, judge.log_limit, doubt);
  const double log_most = std::log(judge.most_ms(batch_size));
  const double in_time = normal_odds((log_most - infer.mean) / infer.deviation);
  probe.odds = probe.power_odds * in_time;
  probe.minibatch_ms = std::exp(infer.mean);
  probe.power_w = std::exp(process.mean(setting).log_power);
  probe.time_deviation = infer.deviation;
  if (in_time < 1e-6) return probe;
  double headroom_gain = 0;
  for (const double place : kQuantiles) {
    const double ms = std::exp(infer.mean + infer.deviation * normal_quantile(place * in_time));
    probe.gain += gain(setting, ms, terms.best_rate.value_or(0), train) / kQuantiles.size();
    headroom_gain += headroom(setting, ms) / kQuantiles.size();
  }
  if (scale > 0) {
    probe.gain /= scale;
    if (!terms.best_rate) probe.gain += kLeastImprovement;
  }
  probe.gain += headroom_gain;
  probe.gain *= probe.odds;
  return probe;
}

std::optional<Probe> SearchBeside::best_of(bool safest, double below, bool desperate) const {
  const std::vector<std::size_t> settings = screened(safest, below);
  double scale = terms.best_rate.value_or(0);
  if (!(scale > 0)) {
    for (const std::size_t setting : settings) {
      // Were it not for whole minibatches: no more than a window without inference has room for.
      scale = std::max(scale, 1e3 / std::exp(process.mean(setting).log_train_ms));
    }
  }
  std::optional<Probe> best;
  double most = -kHuge;
  for (const std::size_t setting : settings) {
    Probe probe = weigh(setting, scale);
    if (terms.best_rate) {
      probe.gain -= terms.probe.price * (1 - probe.power_odds);
    } else {
      probe.gain *= probe.power_odds;
    }
    const double worth = safest ? probe.odds * odds_to_train(setting) : probe.gain;
    const bool likely = (!safest || probe.odds >= *terms.probe.safest_odds) &&
                        (desperate || probe.power_odds >= terms.probe.least_odds);
    if (!likely || !(worth > most)) continue;
    most = worth;
    best = probe;
  }
  return best;
}

}  // namespace

double expected_gain(double window_ms, double rate, double best, const LogBelief& train_ms) {
  if (!(window_ms > 0)) return 0;
  const double log_room = std::log(window_ms) - train_ms.mean;  // log of minibatches in the window
  const double least = std::floor(best / rate + 1e-9);          // as many are no gain
  const double sure = std::floor(std::exp(log_room - kWide * train_ms.deviation));
  double gain = sure > least ? rate * sure - best : 0;
  double k = std::max(sure, least) + 1;
  for (int term = 0; term < kMostTerms; ++term, ++k) {
    const double odds = normal_odds((log_room - std::log(k)) / train_ms.deviation);
    if (odds < 1e-4) break;
    // The first minibatch above the best makes up only for what the best has beyond a whole one.
    gain += odds * std::min(rate, rate * k - best);
  }
  return gain;
}

double expected_gain_of_all(double spare_ms, double best, const LogBelief& train_ms) {
  if (!(spare_ms > 0)) return 0;
  const double log_rate = std::log(spare_ms) - train_ms.mean;
  const double square = train_ms.deviation * train_ms.deviation;
  const double mean = std::exp(log_rate + square / 2);
  if (!(best > 0)) return mean;
  const double ahead = (log_rate - std::log(best)) / train_ms.deviation;
  return mean * normal_odds(ahead + train_ms.deviation) - best * normal_odds(ahead);
}

std::optional<Probe> interleaved_probe(const InterleavedProcess& process, const Goal& goal,
                                       std::span<const std::uint8_t> excluded,
                                       const InterleavedTerms& terms) {
  assert(excluded.size() == process.size() && goal.arrivals_per_s > 0);
  const SearchBeside search{process, GoalJudge(goal, Kind::infer, terms.probe.limit_w), excluded,
                            terms, typical_deviation(process, terms.probe.doubt)};
  for (const double below : kBelow) {
    const std::optional<Probe> best = search.best_of(false, below);
    if (!best) {
      if (search.judge.log_limit == kHuge) break;  // no bound on power is another one
      continue;
    }
    if (!terms.probe.safest_odds) return best;
    std::optional<Probe> safest = search.best_of(true, 0, true);
    if (safest && safest->power_odds < terms.probe.least_odds) {
      const std::optional<Probe> careful = search.best_of(true, 0);
      if (careful && careful->odds >= kBoldShare * safest->odds) safest = careful;
    }
    return safest && best->odds < kFairShareBeside * safest->odds ? safest : best;
  }
  return terms.probe.safest_odds ? search.best_of(true, 0, true) : std::nullopt;
}

}  // namespace gearshift

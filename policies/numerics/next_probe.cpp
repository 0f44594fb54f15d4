#include "policies/numerics/next_probe.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "policies/numerics/elementary.h"
#include "policies/numerics/goal_judge.h"
#include "policies/numerics/normal.h"
#include "policies/numerics/probe_screen.h"
#include "policies/numerics/random_draw.h"

namespace gearshift {
namespace {

// Settings that are later than e^this, and than the process is unsure of it, are not looked at
// closely.
constexpr double kFarLate = 0.7;
// So many of those looked at are in time on average.
constexpr std::ptrdiff_t kLeastInTime = kMostProbed / 8;

double odds_below(double log_limit, double log_mean, double deviation) {
  return log_limit == kHuge ? 1 : normal_odds((log_limit - log_mean) / deviation);
}

// Where a goal asks for more than the power limit, the setting that promises most must have this
// share of the odds of the likeliest one: else it would keep that limit only to be late for
// certain. (By the power limit alone the likeliest setting is the slowest, which may not even end a
// minibatch.)
constexpr double kFairShare = 0.5;
// A batch size waits only for others of which a setting has this share of its odds.
constexpr double kShareOfOthers = 0.1;

// A setting by its value on average, or by how unlikely it is to keep the goal.
struct Candidate {
  double rank = 0;
  std::size_t setting = 0;
  bool in_time = false;  // on average
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank < other.rank : setting < other.setting;
  }
};

// Leaves the first of them in order, kLeastInTime that are in time on average among them, if so
// many are: of a small batch that hardly keeps up, thousands of settings would have a better value
// if they did.
void take_first(std::vector<Candidate>& candidates) {
  const auto begin = candidates.begin();
  const std::size_t count = std::min(kMostProbed, candidates.size());
  const auto in_time =
      std::partition(begin, candidates.end(), [](const Candidate& one) { return one.in_time; });
  const auto sure = begin + std::min<std::ptrdiff_t>(kLeastInTime, in_time - begin);
  std::partial_sort(begin, sure, in_time);
  const auto end = begin + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(sure, end, candidates.end());
  std::inplace_merge(begin, sure, end);
  candidates.resize(count);
}

// Settings worth a closer look, best first, and the worst mean value among them.
std::vector<std::size_t> screened(const CostProcess& process, const GoalJudge& judge,
                                  std::span<const std::uint8_t> excluded, bool safest, double below,
                                  double& worst_log) {
  const double far_over = safest || below > 0 || judge.log_limit == kHuge
                              ? kFarOver
                              : std::max(kFarOver, process.typical_power_deviation());
  std::vector<Candidate> ranked;
  for (std::size_t i = 0; i < process.size(); ++i) {
    const double most_ms = judge.most_ms(process.batch_size(i));
    if (excluded[i] != 0 || most_ms <= 0) continue;
    const CostProcess::Mean mean = process.mean(i);
    const double over = judge.log_limit == kHuge ? -kHuge : mean.log_power - judge.log_limit;
    const double late =
        std::max(most_ms == kHuge ? -kHuge : mean.log_time - std::log(most_ms),
                 judge.log_energy_over(process.batch_size(i), mean.log_time, mean.log_power));
    if (safest) {
      ranked.push_back({std::max(over, late / 2), i, true});
      continue;
    }
    if (over > (below > 0 ? -below : far_over) || late > kFarLate) continue;
    const double value = judge.log_value(process.batch_size(i), mean.log_time, mean.log_power);
    ranked.push_back({value + kOverWeight * std::max(0.0, over), i, late <= 0});
  }
  take_first(ranked);
  worst_log = ranked.empty() ? 0 : ranked.back().rank;
  std::vector<std::size_t> settings;
  for (const Candidate& one : ranked) settings.push_back(one.setting);
  return settings;
}

// What the samples say of one setting.
Probe weigh(const CostProcess& process, const GoalJudge& judge, std::size_t setting, double doubt,
            double best_log, double least_improvement) {
  const CostSamples& samples = process.samples(setting);
  const double time_own = doubt * samples.time_deviation;
  const double power_own = doubt * samples.power_deviation;
  Probe probe{.setting = setting};
  const double batch_size = process.batch_size(setting);
  const double log_most_ms = std::log(std::max(0.0, judge.most_ms(batch_size)));
  double log_time = 0, log_power = 0, time_square = 0, power_square = 0;
  for (std::size_t k = 0; k < samples.log_time.size(); ++k) {
    const double weight = process.weights()[k];
    const double time = samples.log_time[k];
    const double power = samples.log_power[k];
    const double fits = odds_below(judge.log_limit, power, power_own);
    const double thrifty = odds_below(0, judge.log_energy_over(batch_size, time, power),
                                      std::hypot(time_own, power_own));
    const double keeps = fits * odds_below(log_most_ms, time, time_own) * thrifty;
    const double ahead = best_log - judge.log_value(batch_size, time, power);
    const double deviation = judge.deviation(batch_size, time, power, time_own, power_own);
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
  probe.time_deviation =
      std::hypot(time_own, std::sqrt(std::max(0.0, time_square - log_time * log_time)));
  probe.power_deviation =
      std::hypot(power_own, std::sqrt(std::max(0.0, power_square - log_power * log_power)));
  return probe;
}

struct Search {
  const CostProcess& process;
  const GoalJudge judge;
  std::span<const std::uint8_t> excluded;
  const ProbeTerms& terms;

  // The best of the settings that pass one screen; nullopt where none has the odds.
  std::optional<Probe> best_of(bool safest, double below) const {
    double worst_log = 0;
    std::optional<Probe> best;
    double most = -kHuge;
    for (const std::size_t setting : screened(process, judge, excluded, safest, below, worst_log)) {
      Probe probe = weigh(process, judge, setting, terms.doubt, terms.best_log.value_or(worst_log),
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

std::optional<Probe> likeliest_gain(const Search& search) {
  for (const double below : kBelow) {
    const std::optional<Probe> best = search.best_of(false, below);
    if (!best) {
      if (search.judge.log_limit == kHuge) break;  // no bound on power is another one
      continue;
    }
    if (!search.terms.safest_odds || !search.judge.asks_more()) return best;
    const std::optional<Probe> safest = search.best_of(true, 0);
    return safest && best->odds < kFairShare * safest->odds ? safest : best;
  }
  return search.terms.safest_odds ? search.best_of(true, 0) : std::nullopt;
}

// The batch sizes that wait for others, by ProbeTerms::most_over.
std::set<double> waiting_batch_sizes(const CostProcess& process, std::size_t most_over) {
  std::map<double, std::size_t> over;
  for (const CostRow& row : process.rows()) {
    if (row.over_limit) ++over[process.batch_size(row.setting)];
  }
  std::set<double> waiting;
  for (const auto& [batch_size, count] : over) {
    if (count >= most_over) waiting.insert(batch_size);
  }
  return waiting;
}

}  // namespace

std::optional<Probe> next_probe(const CostProcess& process, const Goal& goal, Kind kind,
                                std::span<const std::uint8_t> excluded, const ProbeTerms& terms) {
  assert(excluded.size() == process.size());
  const GoalJudge judge(goal, kind, terms.limit_w);
  const std::optional<Probe> any = likeliest_gain({process, judge, excluded, terms});
  const std::set<double> waiting = waiting_batch_sizes(process, terms.most_over);
  if (!any || !waiting.contains(process.batch_size(any->setting))) return any;
  std::vector<std::uint8_t> others(excluded.begin(), excluded.end());
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (waiting.contains(process.batch_size(i))) others[i] = 1;
  }
  const std::optional<Probe> other = likeliest_gain({process, judge, others, terms});
  return other && other->odds >= kShareOfOthers * any->odds ? other : any;
}

namespace {

using Ranked = std::vector<std::pair<double, std::size_t>>;  // log values, and of which setting

// Settings that keep the goal in a world drawn from the process, `below` the power limit on
// average, with their log values there.
Ranked drawn_values(const CostProcess& process, const CostProcess::World& world,
                    const GoalJudge& judge, std::span<const std::uint8_t> excluded, double temper,
                    double below, std::mt19937_64& random) {
  double worst_log = 0;
  const std::vector<std::size_t> settings =
      screened(process, judge, excluded, false, below, worst_log);
  Ranked ranked;
  for (const std::size_t setting : settings) {
    CostProcess::Mean cost = process.mean(world, setting);
    cost.log_time += temper * process.time_own(setting) * draw_normal(random);
    cost.log_power += temper * process.power_own(setting) * draw_normal(random);
    const double batch_size = process.batch_size(setting);
    if (cost.log_power > judge.log_limit || cost.log_time > std::log(judge.most_ms(batch_size)) ||
        judge.log_energy_over(batch_size, cost.log_time, cost.log_power) > 0) {
      continue;
    }
    ranked.emplace_back(judge.log_value(batch_size, cost.log_time, cost.log_power), setting);
  }
  return ranked;
}

// The same of a world that says values alone.
Ranked given_values(const CostProcess& process, const GoalJudge& judge,
                    std::span<const std::uint8_t> excluded, const DrawTerms& terms, double below) {
  Ranked ranked;
  for (std::size_t setting = 0; setting < terms.log_values.size(); ++setting) {
    if (excluded[setting] != 0 || terms.log_values[setting] == kHuge) continue;
    if (judge.most_ms(process.batch_size(setting)) <= 0) continue;
    const bool fits =
        judge.log_limit == kHuge || process.mean(setting).log_power <= judge.log_limit - below;
    if (fits) ranked.emplace_back(terms.log_values[setting], setting);
  }
  return ranked;
}

// The first of the ranked settings that all that is believed does not speak against.
std::optional<DrawnSetting> first_likely(const CostProcess& process, const GoalJudge& judge,
                                         const DrawTerms& terms, const Ranked& ranked) {
  const bool given = !terms.log_values.empty();
  for (const auto& [value, setting] : ranked) {
    const Probe probe = weigh(process, judge, setting, 1, value, 0);
    if (1 - probe.power_odds > terms.most_over_odds) continue;
    if (given && judge.asks_more() && !(probe.odds >= kFairShare)) continue;
    const double log_time = std::log(probe.minibatch_ms), log_power = std::log(probe.power_w);
    const double batch_size = process.batch_size(setting);
    const double expected_log = judge.log_value(batch_size, log_time, log_power);
    if (given && expected_log > terms.most_expected_log) continue;
    return DrawnSetting{setting,
                        std::exp(value),
                        std::exp(expected_log),
                        judge.deviation(batch_size, log_time, log_power, probe.time_deviation,
                                        probe.power_deviation),
                        probe.power_odds,
                        probe.odds};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::uint8_t> passed_over(const CostProcess& process, const Goal& goal, Kind kind,
                                      std::span<const std::uint8_t> excluded,
                                      const DrawTerms& terms) {
  assert(excluded.size() == process.size());
  const GoalJudge judge(goal, kind, terms.limit_w);
  std::vector<std::uint8_t> passed(excluded.begin(), excluded.end());
  if (judge.log_limit == kHuge && terms.most_expected_log == kHuge) return passed;
  for (std::size_t setting = 0; setting < passed.size(); ++setting) {
    if (passed[setting] != 0) continue;
    const CostProcess::Mean mean = process.mean(setting);
    const double batch_size = process.batch_size(setting);
    const double expected_log = judge.log_value(batch_size, mean.log_time, mean.log_power);
    passed[setting] =
        mean.log_power > judge.log_limit || expected_log > terms.most_expected_log ? 1 : 0;
  }
  return passed;
}

std::optional<DrawnSetting> drawn_setting(const CostProcess& process, const Goal& goal, Kind kind,
                                          std::span<const std::uint8_t> excluded,
                                          const DrawTerms& terms, std::mt19937_64& random) {
  assert(excluded.size() == process.size());
  const GoalJudge judge(goal, kind, terms.limit_w);
  const bool given = !terms.log_values.empty();
  std::optional<CostProcess::World> world;
  if (!given) world = process.draw_world(random, terms.temper);
  for (const double below : kBelow) {
    Ranked ranked =
        given ? given_values(process, judge, excluded, terms, below)
              : drawn_values(process, *world, judge, excluded, terms.temper, below, random);
    std::sort(ranked.begin(), ranked.end());
    if (ranked.size() > kMostProbed) ranked.resize(kMostProbed);
    const auto drawn = first_likely(process, judge, terms, ranked);
    if (drawn || judge.log_limit == kHuge) return drawn;
  }
  return std::nullopt;
}

}  // namespace gearshift

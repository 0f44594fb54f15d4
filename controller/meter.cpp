#include "controller/meter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gearshift {
namespace {

constexpr double kLeastShare = 0.2;
// A batch of requests that come by chance may take so many times as long as on average to come.
constexpr int kRarer = 2;

// Two-sided 95 % points of Student's t by degrees of freedom; beyond the table the normal's 1.96
// plus its first two correction terms (Abramowitz and Stegun 26.7.5): one alone is 1 % too small.
double student_t95(std::uint32_t degrees) {
  static constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                                      2.447,  2.365, 2.306, 2.262, 2.228};
  if (degrees == 0) return 1e9;
  if (degrees <= std::size(kTable)) return kTable[degrees - 1];
  const auto n = static_cast<double>(degrees);
  return 1.96 + 2.372 / n + 2.823 / (n * n);
}

double mean_ns(const std::array<Duration, Meter::kMostSamples>& values, std::uint32_t count) {
  double sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += static_cast<double>(values[i].count());
  return sum / static_cast<double>(count);
}

double stddev_ns(const std::array<Duration, Meter::kMostSamples>& values, std::uint32_t count) {
  if (count < 2) return 0;
  const double mean = mean_ns(values, count);
  double squares = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double off = static_cast<double>(values[i].count()) - mean;
    squares += off * off;
  }
  return std::sqrt(squares / (static_cast<double>(count) - 1));
}

Duration from_ns(double ns) { return Duration(std::llround(ns)); }

double ns(Duration duration) { return static_cast<double>(duration.count()); }
Duration deviation(const Moments& of_ns) { return from_ns(std::sqrt(of_ns.variance())); }

// As if the batch had been full: by the time of a sample, which is no less in a smaller one.
Minibatch scaled(Minibatch minibatch, std::int32_t batch_size) {
  if (minibatch.batch_size == batch_size) return minibatch;
  const double factor = static_cast<double>(batch_size) / minibatch.batch_size;
  for (Duration* const part : {&minibatch.elapsed, &minibatch.fetch_stall, &minibatch.compute}) {
    *part = from_ns(factor * static_cast<double>(part->count()));
  }
  return minibatch;
}

}  // namespace

bool Meter::counts(const Minibatch& minibatch, const Setting& setting) {
  const std::int32_t wanted = setting.batch_size[index(minibatch.kind)];
  if (minibatch.batch_size == wanted) return true;
  return minibatch.kind == Kind::infer && minibatch.batch_size < wanted &&
         2 * static_cast<std::int64_t>(minibatch.batch_size) >= wanted;
}

Meter::Meter(MeterOptions options, Duration power_window, std::int64_t power_rounding_mw,
             bool power_counts)
    : options_(options),
      window_length_(power_window),
      rounding_mw_(power_rounding_mw),
      power_counts_(power_counts),
      window_(power_window) {
  options_.most_minibatches = std::min(options_.most_minibatches, kMostSamples);
}

void Meter::begin(const Setting& setting, const std::array<Expected, kKinds>& expected,
                  Time applied) {
  setting_ = setting;
  expected_ = expected;
  applied_ = work_began_ = applied;
  settled_.reset();
  window_.clear();
  samples_ = {};
  power_mw_ = windows_mw_ = halves_mw_ = half_mw_ = {};
  power_max_ = 0;
  estimate_ = false;
}

void Meter::add(const Minibatch& reported) {
  const std::size_t kind = index(reported.kind);
  if (!expected_[kind].runs || reported.set_sequence != expected_[kind].set_sequence ||
      !counts(reported, setting_)) {
    return;
  }
  expected_[kind].times.add(reported);
  const Minibatch minibatch = scaled(reported, setting_.batch_size[kind]);
  Samples& samples = samples_[kind];
  samples.last = minibatch.received;
  ++samples.seen;
  if (samples.seen == 1 && !expected_[kind].warm) {
    work_began_ = std::max(work_began_, minibatch.received);
  }
  const bool whole = minibatch.received - reported.elapsed >= applied_;
  if (whole && (samples.seen > 1 || expected_[kind].warm))
    samples.whole_ns.add(ns(minibatch.elapsed));
  // The first one straddles the change or warms up caches; a later one may have begun before too.
  if ((samples.seen == 1 && !rare(kind)) || !whole || !settled_) return;
  // Those that still come while power is measured are free, and a CPU quota lets short minibatches
  // through in bursts: the mean and its deviation are over all of them, the 99th percentile and the
  // interval that ends a measurement over the first ones.
  samples.total_ns.add(ns(minibatch.elapsed));
  samples.total_elapsed += minibatch.elapsed;
  samples.fetch_stall += minibatch.fetch_stall;
  samples.compute += minibatch.compute;
  if (samples.count >= options_.most_minibatches) return;
  samples.elapsed[samples.count++] = minibatch.elapsed;
}

void Meter::add(const Reading& reading) {
  if (reading.taken <= applied_) return;
  if (!window_.empty() && reading.taken <= window_.newest()) return;
  window_.add(reading);
  estimate_ = estimate_ || reading.estimate;
  if (!settled_) judge_settled(reading.taken);
  if (!settled_) return;
  add_to_half(reading);
  if (power_mw_.count == 0) power_first_ = reading.taken;
  power_mw_.add(static_cast<double>(reading.value));
  power_max_ = std::max(power_max_, reading.value);
  power_last_ = reading.taken;
  const bool whole = reading.taken - power_first_ >= window_length_;
  if (const auto mean_mw = window_.mean_mw(reading.taken); whole && mean_mw) {
    windows_mw_.add(static_cast<double>(*mean_mw));
  }
}

// What the first reading is a mean of began before power had settled.
void Meter::add_to_half(const Reading& reading) {
  if (power_mw_.count == 0) {
    half_began_ = reading.taken;
    return;
  }
  half_mw_.add(static_cast<double>(reading.value));
  if (2 * (reading.taken - half_began_) < window_length_) return;
  halves_mw_.add(half_mw_.mean);
  half_mw_ = {};
  half_began_ = reading.taken;
}

void Meter::judge_settled(Time now) {
  // The workload must be at work before its power can have settled.
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!expected_[kind].runs || rare(kind)) continue;
    if (samples_[kind].seen == 0 && !starved(kind, now)) return;
  }
  const Duration since = now - work_began_;
  if (since < 2 * window_length_) return;
  if (since >= options_.settle_most) {
    settled_ = now;
    return;
  }
  const auto late = window_.mean_mw(now);
  const auto early = window_.mean_mw(now - window_length_);
  if (!late || !early) return;
  const auto difference = static_cast<double>(std::abs(*late - *early));
  if (difference <= options_.settle_tolerance * static_cast<double>(*late)) settled_ = now;
}

Cost Meter::cost(const Samples& samples) const {
  Cost cost;
  if (samples.count == 0) return cost;
  cost.minibatches = samples.total_ns.count;
  cost.minibatch_mean = samples.total_elapsed / samples.total_ns.count;
  cost.minibatch_stddev = deviation(samples.total_ns);
  std::array<Duration, kMostSamples> sorted = samples.elapsed;
  std::sort(sorted.begin(), sorted.begin() + samples.count);
  // Nearest rank: with up to 40 samples this is the largest one.
  const auto rank = static_cast<std::uint32_t>(std::ceil(0.99 * samples.count));
  cost.minibatch_p99 = sorted[std::max(rank, 1U) - 1];
  cost.fetch_stall_mean = samples.fetch_stall / samples.total_ns.count;
  cost.compute_mean = samples.compute / samples.total_ns.count;
  return cost;
}

std::array<Cost, kKinds> Meter::so_far() const {
  std::array<Cost, kKinds> costs{};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const Moments& whole_ns = samples_[kind].whole_ns;
    costs[kind] = {.minibatch_mean = from_ns(whole_ns.mean),
                   .minibatch_stddev = deviation(whole_ns),
                   .minibatches = whole_ns.count};
  }
  return costs;
}

double Meter::half_width(const Samples& samples) const {
  constexpr double kUnknown = 1e9;
  if (samples.count < 2) return kUnknown;
  const double mean = mean_ns(samples.elapsed, samples.count);
  if (mean <= 0) return kUnknown;
  return student_t95(samples.count - 1) * stddev_ns(samples.elapsed, samples.count) /
         std::sqrt(static_cast<double>(samples.count)) / mean;
}

// While training waits, requests are all that there is to measure.
bool Meter::rare(std::size_t kind) const {
  return expected_[kind].warm && expected_[kind].comes_every >= kRare &&
         expected_[index(Kind::train)].runs;
}

std::uint32_t Meter::least(std::size_t kind) const {
  return rare(kind) ? 1 : options_.least_minibatches;
}

// Training that has run before gives way to requests that leave no time for it.
bool Meter::starved(std::size_t kind, Time now) const {
  return kind == index(Kind::train) && expected_[kind].warm && samples_[kind].seen == 0 &&
         samples_[index(Kind::infer)].seen >= options_.least_minibatches &&
         now - applied_ >
             std::max(kStarvedAfter, 2 * expected_[kind].times.expected(setting_.batch_size[kind]));
}

// How exactly the mean time of the kind must be known. Where both kinds run, the one that takes a
// fifth of the time may be known a fifth as well: the sum is what counts. Nor need inference be
// known well where requests leave no time to train.
double Meter::tolerance(std::size_t kind, Time now) const {
  if (starved(index(Kind::train), now)) return options_.confidence / kLeastShare;
  double all_ns = 0;
  for (const Samples& samples : samples_) {
    all_ns += static_cast<double>(samples.total_elapsed.count());
  }
  const auto own_ns = static_cast<double>(samples_[kind].total_elapsed.count());
  return all_ns > 0 ? options_.confidence / std::max(kLeastShare, own_ns / all_ns)
                    : options_.confidence;
}

bool Meter::scatters(Time now) const {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!expected_[kind].runs || samples_[kind].count < kFewest) continue;
    if (half_width(samples_[kind]) > kScatters * tolerance(kind, now)) return true;
  }
  return false;
}

bool Meter::stalled(Time now) const {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!expected_[kind].runs || starved(kind, now)) continue;
    const bool seen = samples_[kind].seen > 0;
    const Time last = seen ? samples_[kind].last : applied_;
    const Duration most =
        seen || expected_[kind].warm ? options_.stall_after : options_.first_minibatch_most;
    const Duration patience = expected_[kind].times.patience(setting_.batch_size[kind], most);
    if (now - last > patience + kRarer * expected_[kind].comes_every) return true;
  }
  return false;
}

// Two may be lost, one that began before and one before power had settled, and some take longer.
Duration Meter::most_time() const {
  Duration most = options_.most_time;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!expected_[kind].runs) continue;
    const Duration one = expected_[kind].times.expected(setting_.batch_size[kind]) +
                         kRarer * expected_[kind].comes_every;
    most = std::max(most, 2 * options_.least_minibatches * one);
  }
  return most;
}

bool Meter::interleaves() const {
  return std::all_of(samples_.begin(), samples_.end(),
                     [](const Samples& samples) { return samples.count > 0; });
}

// Of the means of a window, of which neighbours share most of their readings: only so many are
// independent as windows have passed.
double Meter::window_deviation() const {
  const double windows = seconds(power_last_ - power_first_) / seconds(window_length_);
  if (windows_mw_.count < 2 || windows <= 1) return 0;
  return std::sqrt(windows_mw_.squares / windows_mw_.count * (windows + 1) / windows);
}

// Of a window's mean, which the guard judges. Its noise is that of a reading over the root of the
// readings a window holds; but where readings are what a counter grew by, what one has too much the
// next has too little, and most of it is gone from the mean of half a window (method of batch
// means: G. S. Fishman, Management Science 24, 1978).
double Meter::power_deviation() const {
  if (power_counts_ && halves_mw_.count > 2) {
    return std::max(std::sqrt(halves_mw_.variance() / 2), window_deviation());
  }
  const double span = std::max(seconds(power_last_ - power_first_), 1e-3);
  const double a_window = std::max(1.0, seconds(window_length_) * (power_mw_.count - 1) / span);
  const double deviation = std::sqrt(power_mw_.variance() / a_window);
  return interleaves() ? std::max(deviation, window_deviation()) : deviation;
}

// What the mean of readings that come in steps may be off by: all that a step hides where they
// stand still, ever less where they vary (B. Widrow, "Statistical analysis of amplitude-quantized
// sampled-data systems", 1961: the first harmonic of the error). Turns of training and inference
// move every rail; while one kind runs alone, the noise of one rail says nothing of the others.
double Meter::hidden_mw(double deviation_mw) const {
  if (rounding_mw_ <= 0 || !interleaves()) return static_cast<double>(rounding_mw_);
  const double steps = std::numbers::pi * deviation_mw / static_cast<double>(rounding_mw_);
  return static_cast<double>(rounding_mw_) * std::exp(-0.5 * steps * steps);
}

std::optional<Observation> Meter::answer(Time now) const {
  Observation observation;
  observation.setting = setting_;
  bool stable = settled_ && power_last_ - power_first_ >= options_.power_least;
  bool enough = settled_.has_value() && power_mw_.count > 0;
  bool one_may_count = true;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!expected_[kind].runs || starved(kind, now)) continue;
    const Samples& samples = samples_[kind];
    enough = enough && samples.count >= least(kind);
    one_may_count = one_may_count && (samples.seen > 1 || rare(kind));
    observation.cost[kind] = cost(samples);
    if (rare(kind)) {  // what it drew has been seen as well
      stable = stable && power_last_ - samples.last >= window_length_;
      continue;
    }
    const double width = half_width(samples);
    observation.confidence = std::max(observation.confidence, width);
    stable =
        stable && (width <= tolerance(kind, now) || samples.count >= options_.most_minibatches);
  }
  // Until one has come that may count, only the stall limit does: the setting may be far slower
  // than those before, and a framework's first minibatch too.
  const bool out_of_time = one_may_count && now - work_began_ > most_time();
  if (!(stable && enough)) {
    if (!out_of_time && !stalled(now)) return std::nullopt;
    if (!enough) {
      observation.outcome = Outcome::stalled;
      return observation;
    }
  }
  observation.power_mean_mw = std::llround(power_mw_.mean);
  observation.power_margin_mw =
      std::llround(std::max(3.0 * power_deviation(), hidden_mw(std::sqrt(power_mw_.variance()))));
  observation.power_max_mw = power_max_;
  observation.power_is_estimate = estimate_;
  return observation;
}

}  // namespace gearshift

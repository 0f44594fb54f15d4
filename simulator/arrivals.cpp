#include "simulator/arrivals.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include "simulator/noise.h"

namespace gearshift {
namespace {

constexpr double kNoEnd = std::numeric_limits<double>::infinity();
constexpr double kMostSeconds = 9e9;  // that a Time can hold
constexpr double kStepsInADay = 1440;

double exponential(std::uint64_t seed, Stream stream, std::uint64_t index) {
  return -std::log(uniform_noise(seed, stream, index));
}

double factor_at(const std::vector<Burst>& bursts, Time time) {
  double factor = 1;
  for (const Burst& burst : bursts) {
    if (burst.begin <= time && time - burst.begin < burst.length) factor *= burst.factor;
  }
  return factor;
}

// Where the factor may change, the beginning first.
std::vector<Time> edges_of(const std::vector<Burst>& bursts) {
  std::vector<Time> times = {Time{}};
  for (const Burst& burst : bursts) {
    times.insert(times.end(), {burst.begin, burst.begin + burst.length});
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

double ArrivalSpec::mean_rate_per_s() const {
  const bool two = pattern == ArrivalPattern::mmpp || pattern == ArrivalPattern::day;
  return two ? (rate_per_s + highest_rate_per_s) / 2 : rate_per_s;
}

double ArrivalSpec::peak_rate_per_s() const {
  double factor = 0;
  for (const Time time : edges_of(bursts)) factor = std::max(factor, factor_at(bursts, time));
  return factor * std::max(rate_per_s, highest_rate_per_s);
}

double ArrivalSpec::mean_requests(Duration span) const {
  const std::vector<Time> edges = edges_of(bursts);
  double busy_s = 0;  // at the mean rate they would take so long to come
  for (std::size_t i = 0; i < edges.size() && edges[i] < Time{} + span; ++i) {
    const Time end = i + 1 < edges.size() ? std::min(edges[i + 1], Time{} + span) : Time{} + span;
    busy_s += seconds(end - edges[i]) * factor_at(bursts, edges[i]);
  }
  return busy_s * mean_rate_per_s();
}

Arrivals::Arrivals(const ArrivalSpec& spec, std::uint64_t seed) : spec_(&spec), seed_(seed) {
  if (spec.pattern == ArrivalPattern::trace) {
    assert(spec.times.size() >= 2 && spec.times.front() < spec.times.back());
    mean_gap_ns_ = static_cast<double>((spec.times.back() - spec.times.front()).count()) /
                   static_cast<double>(spec.times.size() - 1);
    index_ = noise_bits(seed, Stream::arrivals, 0) % (spec.times.size() - 1);
  }
  enter_segment();
  pop();
}

double Arrivals::work() {
  const std::uint64_t index = index_++;
  if (spec_->pattern != ArrivalPattern::trace) return exponential(seed_, Stream::arrivals, index);
  const std::vector<Duration>& times = spec_->times;
  const std::size_t gap = index % (times.size() - 1);
  return static_cast<double>((times[gap + 1] - times[gap]).count()) / mean_gap_ns_;
}

double Arrivals::base_rate() {
  segment_end_s_ = kNoEnd;
  const double low = spec_->rate_per_s;
  const double high = spec_->highest_rate_per_s;
  if (spec_->pattern == ArrivalPattern::mmpp) {
    while (stay_end_s_ <= now_s_) {
      stay_end_s_ += seconds(spec_->period) * exponential(seed_, Stream::arrival_stays, stay_++);
    }
    segment_end_s_ = stay_end_s_;
    return stay_ % 2 == 1 ? low : high;
  }
  if (spec_->pattern == ArrivalPattern::day) {
    const double step_s = seconds(spec_->period) / kStepsInADay;
    // A little more, so that an end that was rounded down lies behind.
    const double step = std::floor(now_s_ / step_s + 1e-6);
    segment_end_s_ = (step + 1) * step_s;
    const double phase = 2 * std::numbers::pi * (step + 0.5) / kStepsInADay;
    return (low + high) / 2 - (high - low) / 2 * std::cos(phase);
  }
  return low;
}

void Arrivals::enter_segment() {
  rate_per_s_ = base_rate();
  for (const Burst& burst : spec_->bursts) {
    const double begin_s = seconds(burst.begin - Time{});
    const double end_s = begin_s + seconds(burst.length);
    if (begin_s <= now_s_ && now_s_ < end_s) rate_per_s_ *= burst.factor;
    if (begin_s > now_s_) segment_end_s_ = std::min(segment_end_s_, begin_s);
    if (end_s > now_s_) segment_end_s_ = std::min(segment_end_s_, end_s);
  }
}

void Arrivals::pop() {
  if (next_ == Time::max() || spec_->mean_rate_per_s() <= 0) {
    next_ = Time::max();
    return;
  }
  double left = work();
  while (true) {
    const double span_s = rate_per_s_ > 0 ? left / rate_per_s_ : kNoEnd;
    if (now_s_ + span_s <= segment_end_s_ || segment_end_s_ > kMostSeconds) {
      now_s_ += span_s;
      break;
    }
    left -= (segment_end_s_ - now_s_) * rate_per_s_;
    now_s_ = segment_end_s_;
    enter_segment();
  }
  next_ = now_s_ < kMostSeconds ? Time(Duration(std::llround(now_s_ * 1e9))) : Time::max();
}

}  // namespace gearshift

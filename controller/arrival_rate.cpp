#include "controller/arrival_rate.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

constexpr double kRung = 1.05;
constexpr double kLongS = 30;
constexpr double kLongestS = 300;
constexpr double kLongArrivals = 30;
constexpr double kRecentS = 10;
constexpr double kBurstS = 1.5;
constexpr double kNewestS = 0.5;
constexpr double kAlike = 2;           // deviations of the end of a lull from all of it
constexpr double kLull = 0.6;          // of the rate, at most
constexpr double kFewestInALull = 10;  // fewer may be the beginning of a silence, or its end
constexpr double kFirstS = 3;
constexpr double kFewestFirst = 10;  // fewer are counted for half a minute
// So many tell the first rate sooner, to a standard deviation of an eighth.
constexpr double kFirstArrivals = 60;
constexpr double kLeastFirstS = 1;
constexpr double kDeviations = 5;
constexpr double kSteady = 3;         // deviations of a shorter time from a longer one
constexpr double kLeastChange = 0.1;  // relative, of a lasting change
constexpr Duration kLeastSilence = std::chrono::seconds(5);
constexpr double kMostSilenceS = 600;
// Requests that would have arrived while none did: so many are a silence, and no lower rate.
constexpr double kMissed = 20;
// Between two reports, less is the way of a message.
constexpr Duration kLeastGap = std::chrono::milliseconds(250);

}  // namespace

double rate_rung(double per_s) {
  if (!(per_s > 0)) return 0;
  // A rung is its own rung, whatever the logarithm rounds to.
  return std::pow(kRung, std::ceil(std::log(per_s) / std::log(kRung) - 1e-9));
}

// Of the newest reports, as few as cover the span.
ArrivalRate::Count ArrivalRate::newest(double span_s) const {
  Count count;
  for (std::size_t i = 0; i < size_ && count.span_s < span_s; ++i) {
    const Count& one = reports_[(next_ + kMostReports - 1 - i) % kMostReports];
    count.span_s += one.span_s;
    count.arrived += one.arrived;
  }
  return count;
}

void ArrivalRate::keep_newest(double span_s) {
  std::size_t kept = 0;
  for (double sum_s = 0; kept < size_ && sum_s < span_s; ++kept) {
    sum_s += reports_[(next_ + kMostReports - 1 - kept) % kMostReports].span_s;
  }
  size_ = kept;
}

bool ArrivalRate::change(double per_s, double kept_s) {
  const double before = per_s_;
  per_s_ = rate_rung(per_s);
  keep_newest(kept_s);
  return per_s_ != before;
}

// So many seconds as some thirty requests take at the rate that is believed.
double ArrivalRate::long_s() const {
  return per_s_ > 0 ? std::clamp(kLongArrivals / per_s_, kLongS, kLongestS) : kLongS;
}

void ArrivalRate::keep(double span_s, double arrived) {
  reports_[next_] = {span_s, arrived};
  next_ = (next_ + 1) % kMostReports;
  size_ = std::min(size_ + 1, kMostReports);
  if (arrived > 0) {
    none_for_s_ = 0;
    return;
  }
  none_for_s_ += span_s;
  if (none_for_s_ * per_s_ > kMissed) size_ = 0;
}

// One that was lost on the way told of requests.
void ArrivalRate::keep_gap(const RequestReport& report) {
  const Duration gap = report.received - report.span - received_;
  if (sequence_ > 0 && report.sequence == sequence_ + 1 && gap > kLeastGap) keep(seconds(gap), 0);
  sequence_ = report.sequence;
  received_ = report.received;
}

// Far fewer than expected, and as many at the end as in all of it: neither a gap nor a silence.
bool ArrivalRate::lulls(const Count& lull) const {
  const double expected = per_s_ * lull.span_s;
  if (lull.span_s < kBurstS || lull.arrived < kFewestInALull) return false;
  if (lull.arrived > kLull * expected) return false;
  if (lull.arrived > expected - kDeviations * std::sqrt(expected)) return false;
  const Count end = newest(kNewestS);
  const double due = lull.per_s() * end.span_s;
  return end.arrived > 0 && std::abs(end.arrived - due) <= kAlike * std::sqrt(due);
}

bool ArrivalRate::add(const RequestReport& report) {
  if (report.span <= Duration::zero()) return false;
  keep_gap(report);
  keep(seconds(report.span), report.arrived);
  if (report.arrived > 0) {
    seen_ = true;
    arrived_ = report.received;
  }
  const Count all = newest(long_s());
  if (all.arrived == 0) return false;
  if (per_s_ == 0) {
    const bool counted = all.span_s >= kLeastFirstS && all.arrived >= kFirstArrivals;
    const bool tells = all.arrived >= kFewestFirst || all.span_s >= kLongS;
    return (counted || (tells && all.span_s >= kFirstS)) && change(all.per_s(), kLongS);
  }
  const Count last = newest(kBurstS);
  const double expected = per_s_ * last.span_s;
  // A count's deviation says little of one below one: two that come together are no burst.
  if (last.span_s >= kBurstS &&
      last.arrived > expected + kDeviations * std::sqrt(std::max(expected, 1.0))) {
    return change(std::max(last.per_s(), newest(kNewestS).per_s()), kNewestS);
  }
  if (lulls(last)) return change(last.per_s(), kBurstS);
  if (all.span_s < kRecentS) return false;
  const double long_expected = per_s_ * all.span_s;
  const double most_off =
      std::max(kLeastChange * long_expected, kDeviations * std::sqrt(long_expected));
  if (std::abs(all.arrived - long_expected) <= most_off) return false;
  // While the burst or the lull before it is still among them, ten seconds say neither.
  const Count recent = newest(kRecentS);
  const double due = recent.per_s() * last.span_s;
  if (std::abs(last.arrived - due) > kSteady * std::sqrt(due)) return false;
  // A step shows in the newest seconds alone; a drift is better counted over all of them.
  const double as_all = all.per_s() * recent.span_s;
  const bool drifts = std::abs(recent.arrived - as_all) <= kSteady * std::sqrt(as_all);
  return drifts ? change(all.per_s(), long_s()) : change(recent.per_s(), kRecentS);
}

// Where one comes every few seconds, a gap of as long is none.
bool ArrivalRate::silent(Time now) const {
  if (!seen_) return true;
  const double missed_s = per_s_ > 0 ? std::min(kMissed / per_s_, kMostSilenceS) : 0;
  return now - arrived_ > std::max(kLeastSilence, Duration(std::llround(1e9 * missed_s)));
}

}  // namespace gearshift

// How many requests arrive a second, as a rate that changes only where the arrivals have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "controller/clock.h"
#include "controller/event.h"

namespace gearshift {

// Fed with what inference workloads report; while nothing comes and nothing waits they report
// nothing, so the time between two reports counts as one in which nothing came. The rate stands on
// a ladder of 5 % steps, and leaves its rung only where the arrivals of the last half a minute
// (longer where fewer than thirty come in it, or as many seconds as have passed since the last
// change, ten at least), or those of the last one and a half for a burst or a lull, would be a rare
// accident at it: five standard deviations of a Poisson count, and a tenth; two fifths for a lull.
// So a rate that trembles does not restart searches without end, three times the rate is noticed
// within a report or two, and its end within three or four. A silence is no lower rate.
class ArrivalRate {
 public:
  // True where the rate has changed. Reports that cover no time are not looked at.
  bool add(const RequestReport& report);
  // Requests a second, at least what was counted; 0: not known yet. It stays where none arrive.
  double per_s() const { return per_s_; }
  // No request has arrived for so long that none is expected, five seconds and twenty requests of
  // the rate at least, but ten minutes at most; or none ever has.
  bool silent(Time now) const;
  // Another workload has come.
  void forget() { *this = {}; }

 private:
  struct Count {
    double span_s = 0;
    double arrived = 0;
    double per_s() const { return arrived / span_s; }
  };
  static constexpr std::size_t kMostReports = 128;

  Count newest(double span_s) const;
  void keep_newest(double span_s);
  double long_s() const;
  void keep(double span_s, double arrived);
  void keep_gap(const RequestReport& report);
  bool change(double per_s, double kept_s);
  bool lulls(const Count& lull) const;

  std::array<Count, kMostReports> reports_{};  // a ring
  std::size_t next_ = 0;
  std::size_t size_ = 0;
  double per_s_ = 0;
  double none_for_s_ = 0;  // since the newest report of an arrival
  bool seen_ = false;
  Time arrived_{};              // the newest report of an arrival
  std::uint64_t sequence_ = 0;  // of the newest report
  Time received_{};             // when
};

// The lowest rung that is no less: 1.05^k a second for a whole k. 0 for a rate of 0.
double rate_rung(double per_s);

}  // namespace gearshift

// How many requests the held setting has answered in time: what lets it be held again after some
// were late.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "controller/setting.h"

namespace gearshift {

// A stall of the machine makes requests late in any setting. Each request that is answered in time
// earns half a hundredth of one that may be late, three of them at most. Each time that the guard
// acts takes one, or two where several were late. So once may be an accident; what is late for more
// than 0.5 % of its requests, or wholly late twice in a row, is not held any more.
class LateCredit {
 public:
  // The setting is held; one that was held already goes on.
  void hold(const Setting& setting) {
    if (setting_ != setting) *this = {};
    setting_ = setting;
  }
  void answered(std::uint32_t in_time) { left_ = std::min(kMost, left_ + kShare * in_time); }
  // So many requests were late, or none where the limit was near. True where it may be held again.
  bool pays(std::uint32_t late) {
    left_ -= std::clamp(late, 1U, 2U);
    return left_ >= 0;
  }
  // Of another rate of requests it says nothing.
  void forget() { *this = {}; }

 private:
  static constexpr double kShare = 0.005;
  static constexpr double kMost = 3;

  std::optional<Setting> setting_;
  double left_ = 2;  // requests that may be late
};

// How many requests a setting has answered in time: what lets it stay in force after some were late
// for a minibatch that stalled. It would have in any setting, and no longer does; but some bear it
// better than others. So what is late in bursts for no more than half a hundredth of its requests
// stays: it has a tenth of a second's requests to begin with, and three times that at most; where
// requests are few, what a setting has whose accidents are not explained.
class StallCredit {
 public:
  // The setting is in force; one that was already goes on.
  void hold(const Setting& setting) {
    if (setting_ != setting) *this = {};
    setting_ = setting;
  }
  void answered(std::uint32_t in_time, double per_s) {
    left_ = std::min(std::max(kFewMost, kMost * per_s), left(per_s) + kShare * in_time);
  }
  bool pays(std::uint32_t late, double per_s) {
    left_ = left(per_s) - late;
    return *left_ >= 0;
  }
  void forget() { *this = {}; }

 private:
  static constexpr double kShare = 0.005;
  static constexpr double kFirst = 0.1, kMost = 0.3;    // of a second's requests,
  static constexpr double kFewFirst = 2, kFewMost = 3;  // and no fewer
  double left(double per_s) const { return left_.value_or(std::max(kFewFirst, kFirst * per_s)); }

  std::optional<Setting> setting_;
  std::optional<double> left_;
};

}  // namespace gearshift

// How long the held setting has kept the cap: what lets it be held again after it was over once.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "controller/clock.h"
#include "controller/setting.h"

namespace gearshift {

// Noise, or another program, brings even a setting that fits over the cap now and then. Each time
// costs half a minute of the time that it was held within the cap, of which a minute is kept: what
// is over more often than that, or soon after its choice, does not fit.
class CapCredit {
 public:
  // The setting is held from now on; one that was held already goes on.
  void hold(const Setting& setting, Time now) {
    if (setting_ != setting) *this = {};
    setting_ = setting;
    if (!since_) since_ = now;
  }
  // Something else is in force.
  void leave(Time now) {
    if (since_) held_ = std::min(kMost, held_ + (now - *since_));
    since_.reset();
  }
  // The setting that is held was over the cap. True where it may be held again.
  bool pays(Time now) {
    leave(now);
    if (held_ < kCost) return false;
    held_ -= kCost;
    return true;
  }
  // What it kept was another cap.
  void forget() { *this = {}; }

 private:
  static constexpr Duration kCost = std::chrono::seconds(30);
  static constexpr Duration kMost = std::chrono::minutes(1);

  std::optional<Setting> setting_;
  std::optional<Time> since_;
  Duration held_{};
};

}  // namespace gearshift

// The limits that hold whatever a policy says: judges windowed power against the exact cap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/power_behind_mean.h"
#include "controller/power_window.h"

namespace gearshift {

enum class Verdict : std::uint8_t {
  within,
  over,           // the mean over the last window, or what it is on its way to, exceeds the cap
  power_unknown,  // no good reading for longer than stale_after: danger
};

class Guard {
 public:
  // `power_averaging`: what the sensor shows is the mean over so long; zero: the newest value.
  // `power_rounding_mw`: it is off by up to so much, since it comes in steps.
  Guard(Duration power_window, Duration stale_after, Duration power_averaging = {},
        std::int64_t power_rounding_mw = 0)
      : window_(power_window),
        behind_mean_(power_averaging, power_rounding_mw),
        averaging_(power_averaging),
        rounding_mw_(power_rounding_mw),
        stale_after_(stale_after) {}

  // Staleness counts from here until the first good reading.
  void start(Time now) { newest_ = now; }
  // Every power reading, good or bad.
  void add(const Reading& reading);
  void set_cap(std::optional<std::int64_t> cap_mw) { cap_mw_ = cap_mw; }
  // After a step down the window still holds readings from before it: `over` is not judged again
  // until `time`.
  void rearm_at(Time time) { armed_ = time; }

  // After a step down the sensor's own averaging shows the mode before for a while: until `time`, a
  // mean over the cap that still falls is not judged.
  void settles_by(Time time) { settled_ = time; }

  // A change may raise power from `since` on: until `time`, what the readings of a sensor that lags
  // are on their way to is judged as well, but not before there is one of them: the others are of
  // what was in force before, and nobody's fault now.
  void rises(Time since, Time time) {
    rising_ = since;
    risen_ = time;
  }

  // The knobs were moved now: from here on readings are a mean of what power was and is.
  void changes_at(Time now) {
    changed_ = now;
    behind_mean_.change(now);
  }
  // Of the setting that is being applied only cores are left, which come and go one by one.
  void plugs_at(Time now) {
    changed_ = now;
    behind_mean_.plug(now);
  }
  // The knobs are in place, and a workload has not taken its new batch size yet.
  void awaits_change(Time now) { behind_mean_.await_change(now); }
  // The knobs stay as they are, and a workload is to run otherwise some time from now on.
  void keeps_knobs(Time now) {
    changed_ = now;
    awaits_change(now);
  }
  Time changed() const { return changed_; }  // the newest time
  // What is applied from now on is not known to fit. Where the steps that readings come in hide
  // more than their noise does, what they may hide of it counts as power: at the end of its
  // measurement it would not be known to fit either.
  void doubt(bool doubts) { doubts_ = doubts; }
  // The first readings after a change are to tell whether what is doubted fits: the more of them
  // the better.
  bool wants_readings(Time now) const;

  Verdict check(Time now) const;
  // Whether the change of the knobs is so long ago that what is in force may be told from what was
  // before.
  bool judges(Time now) const { return now >= armed_; }
  // Until `time` readings are a mix of what power was before and after a step down or the begin of
  // a load: nothing new is to be tried on top of it, or nobody could tell what that draws.
  void clears_at(Time time) { clear_ = std::max(clear_, time); }
  bool clear(Time now) const { return now >= clear_; }
  // True when windowed power is known and within the cap, by a reading since the knobs were moved:
  // what a breach was foreseen by tells nothing of the step down, nor of what is tried next.
  bool recovered(Time now) const;
  // The mean of the last window. Where readings come less often than a window is long, the newest
  // one stands until the next comes, or until it is stale.
  std::optional<std::int64_t> power_mw(Time now) const { return window_.mean_mw(window_end(now)); }
  // What the setting in force may draw, by readings that may still hold the one before it.
  std::optional<std::int64_t> highest_newest_mw(Time now) const {
    return window_.highest_newest_mw(window_end(now));
  }
  // Whether the newest good reading was computed, not read from a sensor.
  bool estimates() const { return estimates_; }
  // As it was read last, however long ago.
  std::optional<std::int64_t> newest_mw() const {
    return window_.empty() ? std::nullopt : std::optional(window_.newest_mw());
  }
  // What was over the cap: the mean, or what it is on its way to.
  std::optional<std::int64_t> judged_mw(Time now) const;
  // Whether the least that may be behind the mean is over the cap, by more than the first readings
  // after a change: they may seem to be on their way to anything.
  bool knows_breach(Time now) const;

 private:
  Time window_end(Time now) const;
  bool falls(std::int64_t mean_mw, Time now) const;
  std::int64_t doubted_mw(std::int64_t mean_mw, Time now) const;

  PowerWindow window_;
  PowerBehindMean behind_mean_;
  Duration averaging_;
  std::int64_t rounding_mw_;
  Duration stale_after_;
  std::optional<std::int64_t> cap_mw_;
  bool doubts_ = false;
  bool estimates_ = false;
  Time newest_{};
  Time armed_{};
  Time settled_{};
  Time rising_{};
  Time risen_{};
  Time changed_{};
  Time clear_{};
};

}  // namespace gearshift

// When workloads run and when they wait, where no setting is left that draws less.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "controller/clock.h"

namespace gearshift {

// While the lowest mode is over the cap the workloads wait, as soon as a window shows it, until the
// mean since then is back at the cap; then they run until a window is over it again. So mean power
// keeps the cap, and a window is over it for no longer than the guard takes to see it and a
// minibatch to end. Not known power counts as over the cap.
class DutyCycle {
 public:
  // The cap must be exceeded for `patience`, a second at least, before anything waits. What waits
  // shows in the sensor's readings after `lag`.
  DutyCycle(Duration patience, Duration lag)
      : patience_(std::max<Duration>(patience, kLeast)), lag_(lag) {}

  // A tick in the lowest mode. `over`: the guard says so. `power_mw`: the mean of the last window,
  // nullopt where it is not known. `answers_within`: what who was asked to wait may take to begin
  // to, zero where all have. Beyond that it is taken to be as quiet as it gets.
  void update(Time now, bool over, std::optional<std::int64_t> power_mw, std::int64_t cap_mw,
              Duration answers_within) {
    if (!waits() || now - asked_ < answers_within) quiet_since_ = now;
    // What is drawn while nobody works is nobody's debt.
    const bool counts = now - quiet_since_ <= lag_ || power_mw.value_or(0) <= cap_mw;
    // Nobody knows what was drawn while the machine slept.
    const bool awake = newest_ && now - *newest_ <= kLongestTick;
    if (power_mw && awake && counts) owe(now - *newest_, *power_mw, cap_mw);
    newest_ = now;
    switch (stretch_) {
      case Stretch::none:
        // The guard may let a falling window pass: that alone is no sign that it fits.
        if (power_mw && *power_mw <= cap_mw) {
          reset();
        } else if (over && !over_since_) {
          over_since_ = now;
        } else if (over && now - *over_since_ >= patience_) {
          begin(Stretch::wait, now);
        }
        return;
      case Stretch::run:
        if (over || !power_mw) {
          begin(Stretch::wait, now);
        } else if (now - began_ >= kFits) {
          reset();
        }
        return;
      case Stretch::wait:
        wait(now, over, power_mw, cap_mw);
        return;
    }
  }
  void reset() { *this = DutyCycle(patience_, lag_); }

  bool active() const { return stretch_ != Stretch::none; }
  bool waits() const { return stretch_ == Stretch::wait; }
  // Where training waits, and what is left is over the cap by itself: requests wait as well.
  bool stops_all() const { return all_; }
  // Power is over the cap though nothing has run for long.
  bool fails() const { return fails_; }

 private:
  enum class Stretch : std::uint8_t {
    none,  // nothing is over the cap for long
    run,
    wait,
  };
  static constexpr Duration kLeast = std::chrono::seconds(1);
  static constexpr Duration kLongestTick = std::chrono::seconds(2);
  static constexpr Duration kFits = std::chrono::seconds(10);  // of a run: there is no breach left
  static constexpr Duration kFailsAfter = std::chrono::seconds(10);
  // Of the cap. What a run begins with, a window that is half of a wait, is saved for its end.
  static constexpr double kMostSavedS = 0.5;

  void owe(Duration span, std::int64_t power_mw, std::int64_t cap_mw) {
    owed_mj_ += static_cast<double>(power_mw - cap_mw) * gearshift::seconds(span);
    owed_mj_ = std::max(owed_mj_, -kMostSavedS * static_cast<double>(cap_mw));
  }
  void begin(Stretch stretch, Time now) {
    stretch_ = stretch;
    began_ = asked_ = now;
  }
  void wait(Time now, bool over, std::optional<std::int64_t> power_mw, std::int64_t cap_mw) {
    if (power_mw && *power_mw <= cap_mw && owed_mj_ <= 0) {
      begin(Stretch::run, now);
    } else if (over && !all_ && now - quiet_since_ >= lag_) {
      all_ = true;
      asked_ = quiet_since_ = now;
    } else if (over && all_ && now - quiet_since_ >= kFailsAfter + lag_) {
      fails_ = true;
    }
  }

  Duration patience_;
  Duration lag_;
  Stretch stretch_ = Stretch::none;
  bool all_ = false;
  bool fails_ = false;
  double owed_mj_ = 0;
  std::optional<Time> newest_;
  std::optional<Time> over_since_;
  Time began_{};
  Time asked_{};        // when those who wait now were asked to, or the last of them
  Time quiet_since_{};  // of a wait: since when nobody is left who works
};

}  // namespace gearshift

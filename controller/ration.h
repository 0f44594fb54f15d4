// Whether a search may go over the cap once more: it has a ration of energy above it, and of steps
// that the guard takes down from there.
#pragma once

#include <cstdint>
#include <string_view>

#include "controller/clock.h"
#include "controller/excess_budget.h"
#include "controller/step_pace.h"

namespace gearshift {

class Ration {
 public:
  // The guard steps down from what is nobody's probe.
  void step_down(Time now) {
    pace_.add(now);
    over_ = false;
  }
  // It steps down from what the search tried, or chose: what is drawn above the cap until power is
  // back is the search's.
  void cut_probe(Time now) {
    pace_.add(now);
    over_ = true;
  }
  // Power is back, or the cap another one.
  void end_probe() { over_ = false; }
  bool probe_is_over() const { return over_; }

  // The board drew `power_mw` since the last call, and the search is to blame for `excess_mw` of
  // it.
  void add(Time now, std::int64_t power_mw, std::int64_t excess_mw) {
    energy_.add(now, power_mw, excess_mw);
  }
  // Nothing is known of the time since the last call.
  void skip(Time now) { energy_.skip(now); }
  // The probe drew so much above the cap before any reading showed it, and draws no more.
  void charge_probe(std::int64_t excess_mw, Duration span) {
    if (over_) energy_.charge(excess_mw, span);
    over_ = false;
  }

  // The search is about to try something. Why it must wait; empty: it need not. That stands until
  // the next call.
  std::string_view ask(Time now) {
    const std::string_view why =
        energy_.spent()    ? "it has drawn its share of the energy above the cap"
        : pace_.spent(now) ? "the guard has stepped down as often as it may in a minute"
                           : std::string_view{};
    waits_ = !why.empty();
    return why;
  }
  bool waits() const { return waits_; }

 private:
  ExcessBudget energy_;
  StepPace pace_;
  bool over_ = false;  // a setting was cut for its power, which is not back yet
  bool waits_ = false;
};

}  // namespace gearshift

// How much energy a search may draw above the cap: a share of all energy, saved up for five minutes
// at most.
#pragma once

#include <cstdint>

#include "controller/clock.h"

namespace gearshift {

// Each probe over the cap is cut short by the guard, but a script may ask for another one without
// end. Over any time T a search spends no more above the cap, as far as add() and charge() are told
// of it, than 0.2 % of the energy of T and five minutes, and what one probe draws until it is cut.
class ExcessBudget {
 public:
  // The board drew `power_mw` since the last call, and the search is to blame for `excess_mw` of
  // it. The budget is full at the first call. It owes no more than it can hold, so that no probe is
  // paid off for long.
  void add(Time now, std::int64_t power_mw, std::int64_t excess_mw);
  // The search drew so much above the cap that no reading has shown, and add() was not told of.
  void charge(std::int64_t excess_mw, Duration span);
  // Nothing is known of the time since the last call.
  void skip(Time now) { newest_ = now; }
  bool spent() const { return left_j_ < 0; }

 private:
  void spend(double excess_j);

  bool begun_ = false;
  Time newest_{};
  double most_j_ = 0;
  double left_j_ = 0;
};

}  // namespace gearshift

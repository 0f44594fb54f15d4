#include "simulator/supply.h"

#include <algorithm>

namespace gearshift {

Supply::Supply(const SupplySpec& spec)
    : spec_(spec), battery_(spec.battery), least_wh_(battery_.energy_wh()) {}

void Supply::advance(Time from, Time until, double board_w) {
  while (from < until) {
    while (step_ < spec_.charger.size() && Time{} + spec_.charger[step_].after <= from) {
      charger_w_ = spec_.charger[step_++].power_w;
    }
    const Time next =
        step_ < spec_.charger.size() ? Time{} + spec_.charger[step_].after : Time::max();
    const Time end = std::min(until, next);
    const double span_s = seconds(end - from);
    battery_.advance(board_w + spec_.other_w - charger_w_, span_s);
    offered_j_ += charger_w_ * span_s;
    least_wh_ = std::min(least_wh_, battery_.energy_wh());
    if (battery_.empty() && !emptied_) emptied_ = end;
    from = end;
  }
}

}  // namespace gearshift

// The part of the loop that stops all work where a limit leaves no power for it.
#include "controller/controller.h"

namespace gearshift {

// Nothing draws less than the safe mode without work, so that there is no cap to hold meanwhile.
void Controller::update_pause(Time now) {
  paused_ = !paused_;
  guard_.set_cap(paused_ ? std::nullopt : cap_mw_);
  if (!paused_) {
    pending_ = Pending::restart;
    update_goal(now);
    return;
  }
  goal_pending_ = false;
  over_probe_ = false;
  if (!roster_.any_managed()) return;
  if (measuring()) cut_measurement(Outcome::goal_changed, now);
  hold_safe("the workloads wait: " + std::string(cap_source_.view()) + " leaves no power for them",
            now);
  pending_ = Pending::restart;
}

}  // namespace gearshift

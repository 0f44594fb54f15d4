// The part of the loop that lets the workloads wait part of the time, where the lowest mode with
// the smallest batches is over the cap.
#include "controller/controller.h"

namespace gearshift {

void Controller::update_duty(Verdict verdict, Time now) {
  const bool asks = cap_mw_ && is_power(*cap_mw_);
  const bool lowest =
      lowest_mode_ != LowestMode::fits && aim_ == Aim::safe && asks && !paused_ && !halted_;
  if (!lowest || !roster_.any_managed()) {
    if (lowest_mode_ == LowestMode::over_with_larger) lowest_mode_ = LowestMode::fits;
    end_duty(now);
    return;
  }
  const bool was_active = duty_.active(), waited = duty_.waits(), failed = duty_.fails();
  const auto power_mw = verdict == Verdict::power_unknown ? std::nullopt : guard_.power_mw(now);
  duty_.update(now, settled_ && verdict == Verdict::over, power_mw, *cap_mw_,
               roster_.answers_within());
  if (duty_.waits()) {
    wait_in_turn();
  } else if (waited || was_active != duty_.active()) {
    run_in_turn(now);
  }
  if (duty_.fails() && !failed) {
    const std::string_view why =
        roster_.settled()
            ? "although the workloads wait; they wait until it falls or the cap rises"
            : "and a workload does not wait as it was asked to; what does waits until "
              "power falls or the cap rises";
    note(NoteType::over_cap, now, "infeasible: power is over the cap " + std::string(why),
         guard_.power_mw(now).value_or(0));
  }
}

// Training waits first: requests are answered for as long as that is enough.
void Controller::wait_in_turn() {
  const bool trains = roster_.managed(Kind::train) != nullptr;
  if (duty_.stops_all() || !trains || roster_.managed(Kind::infer) == nullptr) {
    roster_.pause(world_);
    return;
  }
  Setting serving = roster_.with_all(wanted_);
  serving.run = Run::infer;
  roster_.command(world_, serving);
}

void Controller::run_in_turn(Time now) {
  Setting setting = roster_.with_all(wanted_);
  const bool serves = roster_.managed(Kind::infer) != nullptr;
  if (duty_.active() && duty_.stops_all() && serves) setting.run = Run::infer;
  let_run(setting, now);
}

// False while requests are to wait, so that their lateness is nobody's fault.
bool Controller::may_serve_all() const {
  return !duty_.active() || (!duty_.stops_all() && roster_.managed(Kind::train) != nullptr);
}

void Controller::end_duty(Time now) {
  const bool waited = duty_.active();
  duty_.reset();
  const bool safe = aim_ == Aim::safe;  // else what is wanted has been asked for
  if (waited && safe && !paused_ && !halted_) let_run(roster_.with_all(wanted_), now);
}

}  // namespace gearshift

// What the loop takes where what is in force may not stay: the best setting that is known, or the
// safe one.
#include <cstdio>

#include "controller/controller.h"

namespace gearshift {
namespace {

constexpr double kFarBelow = 0.93;  // of the cap
constexpr Duration kFarAgain = std::chrono::seconds(5);

// Of the power of a setting at work, that of one which is at work for this share of the time: at
// rest it is taken to draw half. A guess, so that what comes of it must be somewhat below the cap.
constexpr double kGuessed = 0.95;
double power_share(double busy) { return 0.5 + 0.5 * busy; }

// What is known of inference alone was drawn at fewer requests, for a share of the time.
double fully_busy_mw(const Observation& of) {
  if (of.setting.run != Run::infer || of.duration <= Duration{}) {
    return static_cast<double>(of.power_mean_mw);
  }
  const Cost& cost = of.cost[index(Kind::infer)];
  const double busy = cost.minibatches * seconds(cost.minibatch_mean) / seconds(of.duration);
  return static_cast<double>(of.power_mean_mw) / power_share(std::min(1.0, busy));
}

// "30.0 W", with as many digits as it has.
std::string watts_text(std::int64_t power_mw) {
  const int digits = power_mw % 100 == 0 ? 1 : power_mw % 10 == 0 ? 2 : 3;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f W", digits, static_cast<double>(power_mw) / 1000);
  return text;
}

}  // namespace

Goal Controller::exact_goal() const {
  Goal exact = goal_;
  exact.power_mw = cap_mw_;
  return exact;
}

// What the setting is known to cost under the limits of now; null where nothing is.
const Observation* Controller::known(const Setting& setting) const {
  return memory_.find(setting, cap_mw_.value_or(0), goal_.arrivals_per_s);
}

// Whether the setting is known to be over the cap of now.
bool Controller::known_over(const Setting& setting) const {
  const Observation* known = cap_mw_ ? this->known(setting) : nullptr;
  if (known == nullptr) return false;
  return known->outcome == Outcome::over_limit || (known->ok() && !known->within(*cap_mw_));
}

// The best by the goal under the exact cap; null where nothing that is known keeps the limits.
const Observation* Controller::best_known() const {
  return memory_.best_within(exact_goal(), {spared_.value_or(Setting{})});
}

// The best setting known to be within the cap, else what serves requests alone within it, or the
// most of them, else the safe one.
void Controller::fall_back(Time now) {
  const Observation* best = cap_mw_ || serving_.limit() ? best_known() : nullptr;
  const bool awaits_requests = serving_.awaits_requests(now);
  if (best != nullptr && !roster_.objection(best->setting)) {
    apply(best->setting, Aim::fallback, now);
  } else if (const Setting* alone = awaits_requests ? nullptr : relieving_setting(0)) {
    apply(*alone, Aim::fallback, now);
  } else if (const auto most = awaits_requests ? std::nullopt : most_serving_setting()) {
    apply(*most, Aim::fallback, now);
  } else {
    Setting safe = safe_setting();
    // Training that waits for requests would begin a minibatch, which takes seconds there.
    if (trainer_waits() && serving_.limit() && !awaits_requests) safe.run = wanted_.run;
    apply(roster_.objection(safe) ? safe_setting() : safe, Aim::safe, now);
  }
}

// Falls back because of power. Where that changes nothing before the training batches that are
// prefetched have run, they run in the safe mode.
void Controller::step_down(Time now) {
  const Observation* best = cap_mw_ ? best_known() : nullptr;
  if (best == nullptr && cap_mw_ && settled_ && wanted_.mode == board_.safe()) {
    // No knob can go lower: the batch is what is left, and no reading has to show that first. A
    // smaller one of requests may draw more, being busy for longer.
    const Setting safe = safe_setting();
    Setting setting = roster_.with_smallest_batches(safe);
    setting.batch_size[index(Kind::infer)] = safe.batch_size[index(Kind::infer)];
    if (trainer_waits()) setting.run = wanted_.run;  // it would draw more beside requests
    apply(setting, Aim::safe, now);
    return;
  }
  if (best == nullptr || !prefetched_are_over(best->setting)) {
    fall_back(now);
    return;
  }
  const std::int32_t batch_size = best->setting.batch_size[index(Kind::train)];
  Setting setting = safe_setting();
  setting.batch_size[index(Kind::train)] = batch_size;
  apply(roster_.objection(setting) ? safe_setting() : setting, Aim::safe, now);
}

bool Controller::prefetched_are_over(const Setting& setting) const {
  Setting meanwhile = setting;
  meanwhile.batch_size[index(Kind::train)] = roster_.running_batch(Kind::train);
  if (meanwhile == setting || !runs(setting.run, Kind::train)) return false;
  return setting.mode == wanted_.mode || known_over(meanwhile);
}

// To the safe setting; where requests must be answered, once to what is known to answer them far
// below the cap: fewer of them leave more time to train, and mean power is higher than when it was
// measured.
void Controller::fall_far(Time now) {
  const Observation* least = goal_.one_by_one && serving_.limit() && cap_mw_
                                 ? memory_.least_power_serving(exact_goal())
                                 : nullptr;
  const bool far = least != nullptr && least->setting != wanted_ &&
                   static_cast<double>(least->power_mean_mw + least->power_margin_mw) <=
                       kFarBelow * static_cast<double>(*cap_mw_);
  if (far && now - fell_far_ > kFarAgain && !roster_.objection(least->setting)) {
    fell_far_ = now;
    apply(least->setting, Aim::fallback, now);
  } else {
    apply(safe_setting(), Aim::safe, now);
  }
}

// Least energy of a lone server found nothing that keeps up with time to spare: what keeps up at
// all is next, the fastest of it. Null where nothing is known to, or the goal lets it be busy.
// While training waits in all of them no value tells them apart.
const Observation* Controller::best_without_spare_time() const {
  if (goal_.most_busy() >= 1 || best_known() != nullptr) return nullptr;
  Goal busy = exact_goal();
  busy.objective = Objective::time;
  return memory_.most_serving(busy, [&](const Observation& measured) {
    return measured.keeps(busy) && measured.setting != spared_;
  });
}

// Of requests that come one by one nothing that is known answers all in time: what answers the most
// of them, while training waits. In the lowest mode they are late until relief has risen from
// there. Null where nothing is known, or something keeps the limits, which the policy would not
// have.
std::optional<Setting> Controller::most_serving_setting() const {
  if (!goal_.one_by_one || !serving_.limit() || best_known() != nullptr) return std::nullopt;
  const auto alone = [this](Setting setting) {
    if (roster_.managed(Kind::train) != nullptr) setting.run = Run::infer;
    return setting;
  };
  const Observation* most = memory_.most_serving(exact_goal(), [&](const Observation& measured) {
    const Setting setting = alone(measured.setting);
    if (cap_mw_ && fully_busy_mw(measured) > static_cast<double>(*cap_mw_)) return false;
    return measured.setting != spared_ && setting != spared_ && !roster_.objection(setting) &&
           !known_over(setting);
  });
  return most != nullptr ? std::optional(alone(most->setting)) : std::nullopt;
}

// Training waits, in the setting that is known to draw the least: inference alone is busy for its
// share of the time only.
std::optional<Setting> Controller::serving_alone() const {
  if (!goal_.one_by_one || !serving_.limit() || !cap_mw_) return std::nullopt;
  Goal uncapped = goal_;
  uncapped.power_mw.reset();
  const Observation* least = memory_.least_power_serving(uncapped);
  if (least == nullptr) return std::nullopt;
  const double busy = goal_.arrivals_per_s * least->sample_s(Kind::infer);
  const double most_mw = static_cast<double>(least->power_mean_mw) * power_share(busy);
  if (most_mw > kGuessed * static_cast<double>(*cap_mw_)) return std::nullopt;
  Setting setting = least->setting;
  setting.run = Run::infer;
  if (roster_.objection(setting) || known_over(setting)) return std::nullopt;
  return setting;
}

// Nothing keeps the limits: what serves requests alone within the cap, if that is known, or keeps
// up with them in all of its time, or else serves the most of them.
void Controller::hold_nothing(std::string_view why, Time now) {
  const auto plan_mw = sources_.plan_mw();
  if (plan_mw && serving_.limit() && latency_floor_mw()) serving_.nothing_serves_under(*plan_mw);
  const Observation* busy = best_without_spare_time();
  if (const Setting* alone = relieving_setting(0)) {
    apply(*alone, Aim::relief, now);
  } else if (busy != nullptr && !roster_.objection(busy->setting)) {
    apply(busy->setting, Aim::fallback, now);
  } else if (const auto most = most_serving_setting()) {
    apply(*most, Aim::relief, now);
  } else {
    hold_safe(why, now);
    return;
  }
  note(NoteType::safe, now, why);
}

void Controller::hold_safe(std::string_view why, Time now) {
  apply(safe_setting(), Aim::safe, now);
  note(NoteType::safe, now, why);
}

// Power is over the cap in the lowest mode, below which there is nothing. While larger batches run
// than were asked for, those that come may fit: the workloads wait in turns meanwhile.
void Controller::tell_infeasible(std::int64_t power_mw, Time now) {
  const bool may_come = now - other_batches_.since() <= options_.workload_timeout;
  if (lowest_mode_ == LowestMode::over) return;
  const bool run_out = may_come && larger_batches_run();
  lowest_mode_ = run_out ? LowestMode::over_with_larger : LowestMode::over;
  if (run_out) return;
  const bool set = board_.state() == ApplyState::applied;
  if (is_power(*cap_mw_)) {
    const std::string what =
        set ? "infeasible: the safe mode is over the cap; it is held until power falls"
            : "infeasible: the safe mode could not be set, and power is over the cap without it; "
              "it is tried again until power falls";
    note(NoteType::over_cap, now,
         what +
             ", the cap rises or the workload changes, and if that lasts the workloads wait "
             "part of the time",
         power_mw);
  }
  const std::string source(sources_.cap().source);
  std::string why = source + " leaves power for the lowest mode at most";
  if (!set) {
    why += ", which could not be set";
  } else if (is_power(*cap_mw_)) {
    const std::int64_t upward_mw = (power_mw + 99) / 100 * 100;  // never as if it were the cap
    why = "the lowest mode draws " + watts_text(upward_mw) + ", over the cap of " +
          watts_text(*cap_mw_) + " (" + source + ")";
  }
  note(NoteType::safe, now, why);
}

bool Controller::larger_batches_run() const {
  const auto larger = [this](Kind kind) {
    const std::int32_t wanted = wanted_.batch_size[index(kind)];
    return wanted > 0 && roster_.running_batch(kind) > wanted;
  };
  return larger(Kind::train) || larger(Kind::infer);
}

// What was over the cap in the lowest mode is used up: power is judged anew, once it shows.
void Controller::judge_without_larger(Time now) {
  if (lowest_mode_ != LowestMode::over_with_larger || larger_batches_run()) return;
  lowest_mode_ = LowestMode::fits;
  guard_.settles_by(now + kLagWindows * board_.traits().power_window);
  guard_.rearm_at(now + 2 * board_.traits().power_window + options_.period);
}

Setting Controller::safe_setting() const {
  Setting setting;
  setting.mode = board_.safe();
  // Batch sizes stay as they are: changing them takes as long as the loader has prefetched. What
  // the policy asked for last may be one that no workload takes, or that one has refused; and who
  // waits keeps those in force, which it cannot refuse.
  Setting batches = wanted_;
  if (refused_by_workload_ || paused_) {
    for (const Kind kind : {Kind::train, Kind::infer}) {
      batches.batch_size[index(kind)] = roster_.running_batch(kind);
    }
  }
  if (!roster_.objection(batches)) setting.batch_size = batches.batch_size;
  // A server takes up another at once, and a large one cannot be answered in time in a slow mode.
  if (serving_.limit()) {
    setting.batch_size[index(Kind::infer)] = serving_.batch_size(*roster_.managed(Kind::infer));
  }
  return roster_.normalised(roster_.with_batches(setting));
}

// In the lowest mode smaller batches are what is left to draw less. False where they are the
// smallest already.
bool Controller::make_batches_smaller(Time now) {
  Setting in_force = roster_.with_all(wanted_);  // a workload may have come since
  if (trainer_waits()) in_force.run = wanted_.run;
  const Setting smaller = roster_.with_smallest_batches(in_force);
  if (smaller == in_force || board_.away()) return false;
  apply(smaller, Aim::safe, now);
  return true;
}

}  // namespace gearshift

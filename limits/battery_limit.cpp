#include "limits/battery_limit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gearshift {
namespace {

// A mode is chosen by what it was measured to draw, plus the sensor's noise: the cap for a planned
// power stands a little above it.
constexpr double kCapSlack = 1.03;
constexpr double kCapStepW = 0.5;
// A planned power that moves by less leaves the cap as it is, so that searches are not restarted.
constexpr std::int64_t kLeastChangeMw = 1000;
// Turns shorter than this share of a cycle are not worth a change of mode.
constexpr double kLeastTurn = 0.05;
constexpr double kShortestCycleS = 5;
// Of the capacity: for each of it more than there was when the voltage sagged it holds more power.
constexpr double kCeilingStep = 0.05;
constexpr double kVoltageRecovered = 1.02;
constexpr Duration kBrownOutRest = std::chrono::seconds(10);
constexpr Duration kDrainWindow = std::chrono::seconds(60);
std::int64_t cap_for(double power_w) {
  return std::llround(std::ceil(power_w * kCapSlack / kCapStepW) * kCapStepW * 1000);
}

bool same_work(const Workload& one, const Workload& other) {
  return one.kind == other.kind && one.name.view() == other.name.view();
}

void follow(std::optional<std::int64_t>& cap_mw, std::int64_t wanted_mw) {
  if (!cap_mw || std::abs(*cap_mw - wanted_mw) >= kLeastChangeMw) cap_mw = wanted_mw;
}

}  // namespace

std::string_view battery_state_name(BatteryState state) {
  switch (state) {
    case BatteryState::unknown:
      return "unknown";
    case BatteryState::planned:
      return "planned";
    case BatteryState::done:
      return "done";
    case BatteryState::brown_out:
      return "brown_out";
    case BatteryState::reserve:
      return "reserve";
    case BatteryState::low:
      return "low";
  }
  return "unknown";
}

BatteryLimit::BatteryLimit(const BatteryLimitOptions& options, PredictWork predict)
    : options_(options),
      predict_(std::move(predict)),
      gauge_(options.stale_after),
      drain_(kDrainWindow),
      forecast_drain_(options_.forecast_deviation) {
  gauge_.set_most_w(options_.most_w > 0 ? options_.most_w : kMostPowerUnknownW);
}

void BatteryLimit::consume(const Event& event) {
  switch (event.type) {
    case EventType::attached:
      if (event.workload.saves) savers_.push_back(event.workload.handle);
      if (event.workload.managed) attach(event.workload);
      return;
    case EventType::detached:
      std::erase(savers_, event.handle);
      detach(event.handle);
      return;
    case EventType::minibatch: {
      const auto& trainer = attached_[index(Kind::train)];
      if (!trainer || event.minibatch.workload != trainer->handle) return;
      done_.add(event.minibatch, *trainer, options_.epochs);
      return;
    }
    default:
      return;
  }
}

void BatteryLimit::attach(const Workload& workload) {
  attached_[index(workload.kind)] = workload;
  if (workload.kind == Kind::train) {
    if (!training_ || !same_work(*training_, workload)) done_.forget();
    done_.attached();
    training_ = workload;
  }
  choose_workload();
}

void BatteryLimit::detach(WorkloadHandle handle) {
  for (auto& attached : attached_) {
    if (attached && attached->handle == handle) attached.reset();
  }
  choose_workload();
}

// Training before serving. Who left alone is planned for until another comes: it may come back.
void BatteryLimit::choose_workload() {
  const auto& trainer = attached_[index(Kind::train)];
  const auto& chosen = trainer ? trainer : attached_[index(Kind::infer)];
  if (!chosen) return;
  const bool same = workload_ && same_work(*workload_, *chosen);
  const bool offers_same = same && std::ranges::equal(workload_->allowed(), chosen->allowed());
  if (!offers_same) {
    WorkPrediction prediction = predict_ ? predict_(*chosen) : WorkPrediction();
    if (same) {
      table_.offer(std::move(prediction), [&](const Setting& setting) {
        return chosen->offers(setting.batch_size[index(chosen->kind)]);
      });
    } else {
      table_.predict(std::move(prediction));
    }
    table_changed_ = true;
  }
  workload_ = chosen;
  planned_.reset();
}

void BatteryLimit::read(const Reading& reading) {
  if (reading.quantity == Quantity::power) {
    drain_.add_power(reading);
    if (reading.state == ReadingState::ok) power_ = reading;
    return;
  }
  gauge_.read(reading);
  const Battery& battery = gauge_.battery();
  if (reading.quantity == Quantity::battery_energy && gauge_.known()) {
    const auto window = drain_.add_energy(*battery.energy_wh,
                                          gauge_.capacity_wh(options_.capacity_wh), battery.taken);
    if (window) learn_drain(*window);
  } else if (reading.quantity == Quantity::battery_current && battery.current_a &&
             battery.voltage_v) {
    drain_.add_flow(*battery.voltage_v * *battery.current_a, reading.taken);
  }
}

void BatteryLimit::learn(const Observation& observation) {
  table_.learn(observation);
  table_changed_ = table_changed_ || observation.ok();
}

double BatteryLimit::samples_left() const {
  return training_ ? done_.left(*training_, options_.epochs) : 0;
}

BatteryAim BatteryLimit::aim() const {
  return why_progress().empty() ? options_.aim : BatteryAim::progress;
}

std::string_view BatteryLimit::why_progress() const {
  if (time_is_over_) return "its time is over";
  if (!needs_samples(options_.aim) || !workload_) return {};
  // What is known of a server says nothing of how long training takes.
  if (workload_->kind != Kind::train) return "no trainer is attached";
  return workload_->samples_per_epoch > 0 ? "" : "the trainer does not tell its samples_per_epoch";
}

// W. While it is not read the board is in its safe mode, and what was read before says nothing.
std::optional<double> BatteryLimit::drawn_w(Time now) const {
  if (!power_ || now - power_->taken > kBrownOutRest) return std::nullopt;
  return static_cast<double>(power_->value) / 1000;
}

bool BatteryLimit::browned_out(Time now) {
  if (!options_.brownout_v) return false;
  const std::optional<double> voltage_v = gauge_.voltage_v(now);
  const std::optional<double> power_w = drawn_w(now);
  const bool saw = !std::exchange(blind_, !voltage_v);
  if (blind_) {
    browned_out_ = now;
    return true;
  }
  if (*voltage_v < *options_.brownout_v) {
    if (state_ != BatteryState::brown_out || !saw) {
      ++brown_outs_;
      if (power_w) ceiling_.sagged(*power_w, gauge_.energy_wh(now));
    }
    browned_out_ = now;
    return true;
  }
  if (state_ != BatteryState::brown_out) return false;
  const bool recovered = *voltage_v > kVoltageRecovered * *options_.brownout_v;
  if (!recovered || now - browned_out_ < kBrownOutRest) return true;
  // Or a ceiling may be left that is below what the lowest mode draws.
  if (!power_w && ceiling_.learnt()) return true;
  if (power_w) ceiling_.recovered(*power_w);
  return false;
}

// What may have been used in a gap is no reason to save work, nor to wait until more is charged.
bool BatteryLimit::awaits_reading(Time now) const {
  const double above_wh = gauge_.energy_wh(now) - reserve_wh();
  return state_ != BatteryState::reserve && gauge_.awaited(now) &&
         above_wh <= share_wh(checkpoint_share());
}

BatteryState BatteryLimit::judge(Time now) {
  if (!gauge_.known() || awaits_reading(now)) return BatteryState::unknown;
  const double above_wh = gauge_.energy_wh(now) - reserve_wh();
  const double resume_wh = share_wh(options_.resumes_above(checkpoint_share()));
  ends_soon_ = above_wh <= (ends_soon_ ? resume_wh : share_wh(checkpoint_share()));
  if (above_wh <= (state_ == BatteryState::reserve ? resume_wh : 0)) return BatteryState::reserve;
  if (browned_out(now)) return BatteryState::brown_out;
  if (needs_samples(options_.aim) && training_ && done_.over(*training_, options_.epochs, now)) {
    return BatteryState::done;
  }
  return ends_soon_ ? BatteryState::low : BatteryState::planned;
}

std::optional<std::int64_t> BatteryLimit::planned_mw(Time now) {
  if (plan_.shortfall == Shortfall::unknown) return std::nullopt;
  const bool same_turns = cycle_low_ == plan_.low && cycle_high_ == plan_.high;
  if (!same_turns || seconds(now - cycle_began_) >= cycle_s_) {
    cycle_began_ = now;
    // A longer one would end with the plan in its higher turn.
    cycle_s_ = std::min(seconds(options_.cycle), std::max(kShortestCycleS, plan_.time_s));
    cycle_low_ = plan_.low;
    cycle_high_ = plan_.high;
    cycle_share_ = plan_.high_share < kLeastTurn       ? 0
                   : plan_.high_share > 1 - kLeastTurn ? 1
                                                       : plan_.high_share;
  }
  follow(low_mw_, cap_for(plan_.low.power_w));
  follow(high_mw_, cap_for(plan_.high.power_w));
  const bool high = seconds(now - cycle_began_) < cycle_share_ * cycle_s_;
  const WorkPoint& point = high ? plan_.high : plan_.low;
  if (point.samples_per_s <= 0) return kNoPowerMw;
  std::optional<std::int64_t> cap_mw = high ? high_mw_ : low_mw_;
  // The fastest of all needs no cap.
  if (point == hull_.vertices().back()) cap_mw.reset();
  return cap_mw;
}

// The plan where it says that the workloads wait.
std::optional<std::int64_t> BatteryLimit::planned_pause_mw(Time now) {
  const auto planned = planned_mw(now);
  return planned == kNoPowerMw ? planned : std::nullopt;
}

// What the voltage holds.
std::optional<std::int64_t> BatteryLimit::ceiling_mw(Time now) {
  const auto power_w = ceiling_.power_w(gauge_.energy_wh(now), share_wh(kCeilingStep));
  return power_w ? std::optional(std::llround(1000 * *power_w)) : std::nullopt;
}

// Of what is left when the time is over nobody said when it is to be spent: all of it in no time
// would be the fastest setting until the reserve.
void BatteryLimit::watch_time(Time now) {
  if (time_is_over_ || options_.aim != BatteryAim::serve) return;
  time_is_over_ = options_.until && now - *started_ > *options_.until;
  if (!time_is_over_) return;
  planned_.reset();
  cycle_began_ = now - options_.cycle;  // what was to end with the time is no turn of this plan
}

void BatteryLimit::serve_above(std::int64_t power_mw) {
  const bool served = serves_w_ > 0;
  serves_w_ = static_cast<double>(power_mw) / 1e3;
  if (options_.pause_w > 0 && served != (serves_w_ > 0)) table_changed_ = true;
}

Limit BatteryLimit::limit(Time now) {
  if (!started_) {
    started_ = now;
    cycle_began_ = now - options_.cycle;
  }
  watch_time(now);
  gauge_.look(now);
  const BatteryState before = state_;
  if (awaits_reading(now)) {
    planned_.reset();  // of a battery that counts as empty no plan is made
  } else if (!planned_ || now - *planned_ >= options_.replan || table_changed_) {
    replan(now);
  }
  state_ = judge(now);
  if (state_ != before) cycle_began_ = now - options_.cycle;
  Limit said{.ends_soon = ends_soon_, .moves = true};
  switch (state_) {
    case BatteryState::reserve:
      said.power_mw = kNoPowerMw;
      break;
    case BatteryState::unknown:
      said.power_mw = kLowestModeMw;
      break;
    case BatteryState::brown_out:
      said.power_mw = kLowestModeMw;
      said.planned_mw = planned_pause_mw(now);
      break;
    case BatteryState::done:
      said.planned_mw = kLowestModeMw;
      break;
    case BatteryState::planned:
    case BatteryState::low:
      said.power_mw = ceiling_mw(now);
      said.planned_mw = planned_mw(now);
      break;
  }
  return said;
}

std::string BatteryLimit::describe() const {
  std::string text(battery_state_name(state_));
  if (state_ == BatteryState::low && prevailing_.work_is_saved) {
    text += ": work is saved; the workloads wait";
  } else if (state_ == BatteryState::planned || state_ == BatteryState::low) {
    text += ": " + gearshift::describe(plan_);
    if (plan_within_others_) {
      text += "; while another cap leaves no more, " + gearshift::describe(*plan_within_others_);
    }
    if (const std::string_view why = why_progress(); !why.empty()) {
      text += "; as progress, because " + std::string(why);
    }
  }
  if (state_ == BatteryState::brown_out && blind_) text += ": the battery's voltage is not read";
  if (const std::string why = gauge_.complaint(); !why.empty()) {
    text += (state_ == BatteryState::unknown ? ": " : "; ") + why;
  }
  return text;
}

}  // namespace gearshift

#include "cli/explaining_recorder.h"

#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <utility>

#include "controller/battery.h"

namespace gearshift {
namespace {

constexpr Duration kPlanRests = std::chrono::minutes(1);

// That a plan no longer falls short may wait: it may come and go as the plan is made anew.
bool tells_news(Shortfall told, Shortfall now) {
  const bool better = now == Shortfall::none && told != Shortfall::unknown;
  return now != told && !better;
}

Shortfall within_others(const BatteryLimit& limit) {
  const auto& plan = limit.plan_within_others();
  return plan ? plan->shortfall : Shortfall::none;
}

}  // namespace

void ExplainingRecorder::tick(const TickInputs& inputs) {
  for (const Event& event : inputs.events) prediction_.consume(event);
  rationale_.tick(inputs);
  front_.tick(inputs);
}

void ExplainingRecorder::note(const Note& note) {
  rationale_.note(note);
  front_.note(note);
}

void ExplainingRecorder::status(const Status& status) {
  rationale_.status(status);
  front_.status(status);
}

void PlanNotes::tick(const TickInputs& inputs) {
  next_.tick(inputs);
  for (const Reading& reading : inputs.readings) {
    if (reading.quantity == Quantity::battery_energy) energy_ = reading;
    if (reading.quantity == Quantity::battery_voltage) voltage_ = reading;
  }
}

bool PlanNotes::told_enough() const {
  return state_ == limit_->state() && aim_ == limit_->aim() &&
         !tells_news(shortfall_, limit_->plan().shortfall) &&
         !tells_news(within_others_, within_others(*limit_)) && late_ == limit_->gauge_late();
}

void PlanNotes::status(const Status& status) {
  next_.status(status);
  if (limit_ == nullptr) return;
  if (told_enough() && status.time - told_ < kPlanRests) return;
  state_ = limit_->state();
  aim_ = limit_->aim();
  shortfall_ = limit_->plan().shortfall;
  within_others_ = within_others(*limit_);
  late_ = limit_->gauge_late();
  told_ = status.time;
  std::string said = text();
  if (said == text_) return;
  text_ = std::move(said);
  next_.note({.type = NoteType::plan, .time = status.time, .text = text_});
}

std::string PlanNotes::text() const {
  if (limit_ == nullptr) return {};
  const std::string why = cause();
  return limit_->describe() + (why.empty() ? "" : "; " + why);
}

std::string PlanNotes::cause() const {
  const auto said_of = [this](const Reading& reading) {
    return battery_ != nullptr ? battery_->explain(reading) : std::string();
  };
  if (limit_->gauge_late()) {
    if (energy_.state != ReadingState::ok) return said_of(energy_);
    return fmt::format("it tells {:.2f} Wh now, which is not believed",
                       static_cast<double>(energy_.value) / (1000 * kJoulesInWh));
  }
  return limit_->state() == BatteryState::brown_out ? said_of(voltage_) : std::string();
}

}  // namespace gearshift

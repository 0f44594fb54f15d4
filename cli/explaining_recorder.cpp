#include "cli/explaining_recorder.h"

#include <chrono>

namespace gearshift {
namespace {

constexpr Duration kPlanRests = std::chrono::minutes(1);

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

void PlanNotes::status(const Status& status) {
  next_.status(status);
  if (limit_ == nullptr) return;
  const bool planned = limit_->plan().shortfall != Shortfall::unknown;
  const bool same = state_ == limit_->state() && planned_ == planned;
  if (same && status.time - told_ < kPlanRests) return;
  planned_ = planned;
  state_ = limit_->state();
  told_ = status.time;
  std::string text = limit_->describe();
  if (text == text_) return;
  text_ = std::move(text);
  next_.note({.type = NoteType::plan, .time = status.time, .text = text_});
}

}  // namespace gearshift

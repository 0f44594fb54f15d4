#include "cli/live_knobs.h"

#include <unistd.h>

#include <utility>

#include "actuators/timed_actuator.h"
#include "cli/outlet.h"

namespace gearshift {
namespace {

constexpr Duration kJournalPace = std::chrono::seconds(1);  // of looks at it

// In the guardian's process, which opens it for itself.
void tell_for_guardian(const std::string& text) {
  static Outlet out(STDERR_FILENO);
  out.tell("gearshift guardian: " + text + '\n');
}

}  // namespace

LiveKnobs::LiveKnobs(const BoardDescription& board, Sysroot& root, const Clock& clock,
                     const std::filesystem::path& journal)
    : root_(root),
      clock_(clock),
      guardian_(std::make_unique<Guardian>(
          board, root, clock, GuardianOptions{.journal = journal, .tell = tell_for_guardian})),
      own_(std::make_unique<BoardActuator>(
          board, root,
          BoardActuatorOptions{
              .journal = journal, .clock = &clock, .guardian = {.saved = &guardian_->saved()}})),
      local_(own_.get()),
      knobs_(own_->knobs()),
      absent_(own_->absent()),
      leftover_(own_->leftover()) {}

LiveKnobs::LiveKnobs(const BoardDescription& board, Sysroot& root, const Clock& clock,
                     const std::string& socket)
    : root_(root),
      clock_(clock),
      others_(std::make_unique<RemoteActuator>(socket, board.id, clock)),
      remote_(others_.get()),
      knobs_(others_->knobs()),
      absent_(others_->absent()),
      helper_("knobs are set by the helper at " + socket) {}

LiveKnobs::~LiveKnobs() {
  try {
    if (own_ != nullptr) own_->restore();
    if (others_ != nullptr) others_->restore();
  } catch (const std::runtime_error&) {
    leave_to_guardian();  // and the journal keeps it for the next run or `gearshift restore`
  }
}

FanPin LiveKnobs::pin_fan() { return own_ != nullptr ? own_->pin_fan() : remote_->pin_fan(root_); }

std::unique_ptr<Actuator> LiveKnobs::take() {
  std::unique_ptr<Actuator> knobs;
  if (own_ != nullptr) {
    knobs = std::move(own_);
  } else {
    knobs = std::move(others_);
  }
  return std::make_unique<TimedActuator>(std::move(knobs), clock_);
}

std::string LiveKnobs::beat(Time now) {
  if (remote_ != nullptr) {
    remote_->beat(now);
    return remote_->take_complaint();
  }
  guardian_->beat();
  if (now - looked_ >= kJournalPace) {
    looked_ = now;
    local_->keep_journal();
  }
  std::string trouble = local_->take_complaint();
  return trouble.empty() ? guardian_->take_news() : trouble;
}

std::string LiveKnobs::set_safe(Board& board) const {
  constexpr Duration kPace = std::chrono::milliseconds(20);
  board.begin(board.safe(), clock_.now());
  while (board.advance(clock_.now()) == ApplyState::applying && !board.away()) {
    if (remote_ != nullptr) remote_->await(kPace);
  }
  if (board.state() == ApplyState::applied) return {};
  if (!board.away()) return std::string(board.failure());
  const std::string why = remote_ == nullptr ? local_->away_reason() : remote_->take_complaint();
  return "no knob can be set now" + (why.empty() ? why : ": " + why);
}

void LiveKnobs::keep() const {
  if (remote_ != nullptr) remote_->keep();
}

std::string LiveKnobs::take_complaint() {
  return local_ == nullptr ? std::string() : local_->take_complaint();
}

// It is not told goodbye then, and its lifeline is cut when this process ends.
void LiveKnobs::leave_to_guardian() {
  if (guardian_ != nullptr) guardian_->wake();
  static_cast<void>(guardian_.release());
}

}  // namespace gearshift

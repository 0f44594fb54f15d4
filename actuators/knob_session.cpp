#include "actuators/knob_session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "actuators/process_user.h"

namespace gearshift {
namespace {

// A client that hears nothing for longer knows that nobody serves it.
constexpr Duration kMostSilence = std::chrono::seconds(1);

KnobAnswer answer_of(KnobAnswerType type, std::string text = {}) {
  KnobAnswer answer;
  answer.type = type;
  answer.text = std::move(text);
  return answer;
}

}  // namespace

KnobSession::KnobSession(BoardActuator& actuator, const Sysroot& root, const Sysroot& machine,
                         std::string board, std::uint32_t user)
    : actuator_(actuator), root_(root), machine_(machine), board_(std::move(board)), user_(user) {}

std::optional<KnobAnswer> KnobSession::serve(const KnobRequest& request, Time now) {
  KnobAnswer answer;
  if (!welcomed_ && request.verb != KnobVerb::hello) {
    answer = offence("a client that has not said hello");
  } else {
    switch (request.verb) {
      case KnobVerb::hello:
        answer = welcome(request);
        break;
      case KnobVerb::write:
        answer = write(request);
        break;
      case KnobVerb::beat:
        answer = answer_of(KnobAnswerType::values);
        break;
      case KnobVerb::manage:
        answer = manage(request);
        break;
      case KnobVerb::pin_fan:
        answer = pin_fan();
        break;
      case KnobVerb::restore:
        answer = restore();
        break;
      case KnobVerb::keep:
        keeps_ = true;
        answer = answer_of(KnobAnswerType::done);
        break;
    }
  }
  answer.sequence = request.sequence;
  add_values(answer);
  const bool due = now - answered_ >= kMostSilence || answer.values != told_;
  if (answer.type == KnobAnswerType::values && !due) return std::nullopt;
  told_ = answer.values;
  answered_ = now;
  return answer;
}

std::string KnobSession::take_offence() { return std::exchange(offence_, {}); }

KnobAnswer KnobSession::welcome(const KnobRequest& request) {
  if (request.value != kKnobProtocolVersion) {
    return offence("version " + std::to_string(request.value) + ": this helper speaks version " +
                   std::to_string(kKnobProtocolVersion) +
                   "; let both be of one release of gearshift");
  }
  welcomed_ = true;
  KnobAnswer answer = answer_of(KnobAnswerType::welcome);
  answer.welcome = {board_, actuator_.knobs(), actuator_.absent(), actuator_.findings()};
  return answer;
}

KnobAnswer KnobSession::write(const KnobRequest& request) {
  const std::vector<Knob>& knobs = actuator_.knobs().knobs;
  if (request.knob >= knobs.size()) {
    return offence("knob " + std::to_string(request.knob) + ": there are " +
                   std::to_string(knobs.size()));
  }
  const Knob& knob = knobs[request.knob];
  if (!std::binary_search(knob.values.begin(), knob.values.end(), request.value)) {
    return offence(knob.name + ": " + describe_value(knob.unit, request.value) +
                   " is none of its " + std::to_string(knob.values.size()) + " values from " +
                   describe_value(knob.unit, knob.values.front()) + " to " +
                   describe_value(knob.unit, knob.values.back()));
  }
  keeps_ = false;
  try {
    const Progress progress = actuator_.write(request.knob, request.value);
    if (progress == Progress::away) {
      return answer_of(KnobAnswerType::away, actuator_.away_reason());
    }
    return answer_of(progress == Progress::done ? KnobAnswerType::done : KnobAnswerType::more);
  } catch (const std::exception& error) {
    return answer_of(KnobAnswerType::refused, error.what());
  }
}

// Whose a process is says the machine alone: the board's files may be anybody's. Where they are not
// the machine's, they do not tell which processes a process has started either.
KnobAnswer KnobSession::manage(const KnobRequest& request) {
  constexpr std::int64_t kMostPid = std::numeric_limits<std::int32_t>::max();
  if (request.knob >= kKinds) return offence("kind " + std::to_string(request.knob));
  const bool none = request.value == 0;
  if (request.value < 0 || request.value > kMostPid ||
      (!none && user_ != 0 && user_of_process(machine_, request.value) != user_)) {
    return offence("process " + std::to_string(request.value) + " is not managed: user " +
                   std::to_string(user_) + " has no such process");
  }
  if (!none && actuator_.manages() && root_.prefix() != machine_.prefix()) {
    return answer_of(KnobAnswerType::refused,
                     "process " + std::to_string(request.value) +
                         " is put in no control group: those below " + root_.prefix().string() +
                         " need not be this machine's; start the helper without --sysroot");
  }
  try {
    actuator_.manage(static_cast<std::int32_t>(request.value), static_cast<Kind>(request.knob));
    return answer_of(KnobAnswerType::done);
  } catch (const std::exception& error) {
    return answer_of(KnobAnswerType::refused, error.what());
  }
}

KnobAnswer KnobSession::pin_fan() {
  const FanPin fan = actuator_.pin_fan();
  return answer_of(KnobAnswerType::done, fan.duty_path() + '\n' + fan.finding());
}

KnobAnswer KnobSession::restore() {
  try {
    actuator_.restore();
    return answer_of(KnobAnswerType::done);
  } catch (const std::exception& error) {
    return answer_of(KnobAnswerType::refused, error.what());
  }
}

KnobAnswer KnobSession::offence(const std::string& text) {
  offence_ = text;
  return answer_of(KnobAnswerType::refused, text);
}

void KnobSession::add_values(KnobAnswer& answer) {
  answer.knob_count = static_cast<std::uint8_t>(actuator_.knobs().size());
  for (std::size_t i = 0; i < answer.knob_count; ++i) answer.values[i] = actuator_.read(i);
}

}  // namespace gearshift

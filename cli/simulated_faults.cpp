#include "cli/simulated_faults.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string_view>

#include "cli/knob_values.h"
#include "cli/units.h"

namespace gearshift {
namespace {

// What a search needs to come to a choice again, most of the time.
constexpr Duration kAftermath = std::chrono::seconds(10);
// The same where it must first be noticed that the world has changed.
constexpr Duration kDriftAftermath = std::chrono::minutes(2);
constexpr std::string_view kForms =
    "give FAULT, FAULT@BEGIN or FAULT@BEGIN..END with a FAULT of reading_missing, reading_stuck, "
    "reading_absurd, knob_refuses:KNOB, knob_lies:KNOB, board_throttles:KNOB=VALUE, "
    "trainer_stalls, trainer_vanishes, helper_vanishes, cap_steps:POWER, throttle:FACTOR and "
    "workload:PROFILE, for example reading_stuck@20s..30s";

// What stands behind the colon.
enum class Operand { none, knob, knob_value };

struct Word {
  std::string_view name;
  FaultKind kind;
  Operand operand;
};
constexpr Word kWords[] = {{"reading_missing", FaultKind::reading_missing, Operand::none},
                           {"reading_stuck", FaultKind::reading_stuck, Operand::none},
                           {"reading_absurd", FaultKind::reading_absurd, Operand::none},
                           {"knob_refuses", FaultKind::knob_refuses, Operand::knob},
                           {"knob_lies", FaultKind::knob_lies, Operand::knob},
                           {"board_throttles", FaultKind::board_throttles, Operand::knob_value},
                           {"trainer_stalls", FaultKind::trainer_stalls, Operand::none},
                           {"trainer_vanishes", FaultKind::trainer_vanishes, Operand::none},
                           {"helper_vanishes", FaultKind::helper_vanishes, Operand::none}};
constexpr std::string_view kCapSteps = "cap_steps";
constexpr std::string_view kThrottle = "throttle";
constexpr std::string_view kWorkload = "workload";

// A text taken apart. Its times are in `span`.
struct Parts {
  std::string option;  // as typed, for messages
  std::string word;
  std::string operand;
  Fault span;
};

[[noreturn]] void refuse_fault(const std::string& option, const std::string& why) {
  throw std::invalid_argument(fmt::format("{}: {}", option, why));
}

Time parse_time(const std::string& option, const std::string& text) {
  try {
    return Time{} + parse_duration(text);
  } catch (const std::invalid_argument& error) {
    refuse_fault(option, error.what());
  }
}

Parts parts_of(const std::string& text) {
  Parts parts;
  parts.option = fmt::format("--fault '{}'", text);
  const std::size_t at = std::min(text.find('@'), text.size());
  const std::string what = text.substr(0, at);
  const std::size_t colon = std::min(what.find(':'), what.size());
  parts.word = what.substr(0, colon);
  if (colon < what.size()) parts.operand = what.substr(colon + 1);
  if (at == text.size()) return parts;
  const std::string when = text.substr(at + 1);
  const std::size_t dots = std::min(when.find(".."), when.size());
  parts.span.begin = parse_time(parts.option, when.substr(0, dots));
  if (dots < when.size()) parts.span.end = parse_time(parts.option, when.substr(dots + 2));
  if (parts.span.end <= parts.span.begin) refuse_fault(parts.option, "it ends before it begins");
  return parts;
}

Fault fault_of(const Parts& parts, const KnobSpace& knobs) {
  const auto* const word = std::find_if(std::begin(kWords), std::end(kWords),
                                        [&](const Word& one) { return one.name == parts.word; });
  if (word == std::end(kWords)) {
    refuse_fault(parts.option, fmt::format("'{}' is no fault; {}", parts.word, kForms));
  }
  Fault fault = parts.span;
  fault.kind = word->kind;
  if (word->operand == Operand::none && !parts.operand.empty()) {
    refuse_fault(parts.option, fmt::format("{} takes no ':{}'", parts.word, parts.operand));
  }
  if (word->operand == Operand::knob) fault.knob = parse_knob(knobs, parts.option, parts.operand);
  if (word->operand == Operand::knob_value) {
    const KnobValues held = parse_knob_values(knobs, parts.option, parts.operand);
    if (held.values.size() != 1)
      refuse_fault(parts.option, "give one value that it does not go above");
    fault.knob = held.knob;
    fault.value = held.values.front();
  }
  return fault;
}

// A cap that steps from `begin` until before `end`.
struct CapStep {
  Fault span;
  std::int64_t power_mw = 0;
};

CapStep cap_step_of(const Parts& parts) {
  try {
    return {parts.span, parse_power_mw(parts.operand)};
  } catch (const std::invalid_argument& error) {
    refuse_fault(parts.option, error.what());
  }
}

WorldChange world_change_of(const Parts& parts) {
  WorldChange change{.begin = parts.span.begin, .end = parts.span.end};
  if (parts.word == kWorkload) {
    if (parts.operand.empty())
      refuse_fault(parts.option, "name the profile, or the model's workload");
    change.workload = parts.operand;
    return change;
  }
  const char* const end = parts.operand.data() + parts.operand.size();
  const auto [rest, error] = std::from_chars(parts.operand.data(), end, change.factor);
  if (error != std::errc() || rest != end || !(change.factor >= 0.1 && change.factor <= 1)) {
    refuse_fault(parts.option,
                 "give what is left of the clocks, 0.1 to 1, for example throttle:0.8");
  }
  return change;
}

// At each time that a step begins or ends, the last of those that have begun and not ended.
std::vector<ScheduleStep> schedule(const std::vector<CapStep>& steps,
                                   const std::optional<std::int64_t>& power_mw) {
  if (steps.empty()) return {};
  std::vector<Time> times = {Time{}};
  for (const CapStep& step : steps) {
    times.push_back(step.span.begin);
    if (step.span.end != Time::max()) times.push_back(step.span.end);
  }
  std::sort(times.begin(), times.end());
  std::vector<ScheduleStep> caps;
  for (const Time time : times) {
    ScheduleStep& cap = caps.emplace_back();
    cap.after = time - Time{};
    cap.power_mw = power_mw;
    for (const CapStep& step : steps) {
      if (step.span.active(time)) cap.power_mw = step.power_mw;
    }
  }
  return caps;
}

}  // namespace

SimulatedFaults parse_faults(const std::vector<std::string>& texts, const KnobSpace& knobs,
                             const std::optional<std::int64_t>& power_mw) {
  SimulatedFaults faults;
  std::vector<CapStep> steps;
  for (const std::string& text : texts) {
    const Parts parts = parts_of(text);
    const bool drifts = parts.word == kThrottle || parts.word == kWorkload;
    if (drifts) {
      faults.changes.push_back(world_change_of(parts));
    } else if (parts.word == kCapSteps) {
      steps.push_back(cap_step_of(parts));
    } else {
      faults.plan.push_back(fault_of(parts, knobs));
    }
    const Time last = parts.span.end == Time::max() ? parts.span.begin : parts.span.end;
    faults.least_duration =
        std::max(faults.least_duration, last - Time{} + (drifts ? kDriftAftermath : kAftermath));
  }
  faults.caps = schedule(steps, power_mw);
  faults.stepped = schedule(steps, std::nullopt);
  return faults;
}

}  // namespace gearshift

// A policy decides which setting to try or to hold. It asks; the controller measures and answers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "controller/event.h"
#include "controller/goal.h"
#include "controller/knob.h"
#include "controller/observation.h"
#include "controller/profile.h"

namespace gearshift {

// Everything a policy sees. A policy is a pure function of this and of the answers it gets.
// The references and spans outlive the call, and stay valid until the next start or replace.
struct PolicyContext {
  Goal goal;  // a cap that moves by itself is rounded down (cap_step_mw)
  const KnobSpace* knobs = nullptr;
  std::span<const PowerMode> modes;  // lowest power first by the board's model: a hint, never data
  std::array<const Workload*, kKinds> workloads{};  // null where no workload of the kind is managed
  std::span<const Observation> observations;        // in the order they were made
  // Tables measured before, of other workloads or boards: the files the user named. None is null.
  std::span<const Profile* const> prior{};
  PowerMode safe;  // what is held when the policy has no answer
  std::uint64_t seed = 0;

  // A server and its rate are known, whose latency is to be least: inference is what is searched,
  // beside training too.
  bool latency_counts() const {
    return goal.objective == Objective::latency && goal.arrivals_per_s > 0 &&
           workloads[index(Kind::infer)] != nullptr;
  }
};

struct Request {
  enum class What : std::uint8_t {
    measure,    // answer from memory if known
    remeasure,  // look again
    hold,       // until the goal or the workload changes
    hold_safe,  // the script returned nil
    failed,     // the script failed; Policy::failure() says how
  };
  What what = What::hold_safe;
  Setting setting;  // for measure, remeasure and hold; always inside the knob space
};

// A script that cannot be used: what() has file, line and traceback.
struct PolicyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Runs the current script from the top in a fresh state, up to its first request.
  virtual Request start(const PolicyContext& context) = 0;
  // Gives the answer to the last measure or remeasure and runs on to the next request.
  virtual Request resume(const Observation& answer) = 0;
  // Compiles `text`, runs it to its first request, and only then drops the old script.
  // Throws PolicyError, and keeps the old script where it was, if the new one does not get there.
  // Where no workload runs a script has nothing to ask for: it need only compile, start() runs it.
  virtual Request replace(std::string_view text, const PolicyContext& context) = 0;
  // The traceback of the last Request::What::failed.
  virtual std::string_view failure() const = 0;
  // The next line the script gave to log(), or empty. Lines wait here until they are taken.
  virtual std::string take_log() = 0;
};

}  // namespace gearshift

// What the daemon is doing now, for the live line and for status requests.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "controller/battery.h"
#include "controller/clock.h"
#include "controller/event.h"
#include "controller/setting.h"

namespace gearshift {

enum class Phase : std::uint8_t {
  waiting,    // for a workload, or for its next minibatch
  applying,   // a setting is being written
  measuring,  // a setting's cost
  holding,    // the policy's choice
  safe,       // the safe setting, because the policy or the power readings failed
  paused,     // the workloads wait: a limit leaves no power, or nobody could step down
  saving,     // workloads were asked to save their work: power is about to end
  rationed,   // the search waits until it may go over the cap again
  resting,    // the lowest mode is over the cap: the workloads wait part of the time
};
std::string_view phase_name(Phase phase);

// Serialisable and trivially copyable.
struct Status {
  Time time{};
  Phase phase = Phase::waiting;
  bool power_known = false;
  bool power_is_estimate = false;
  std::int64_t power_mw = 0;                 // newest windowed mean
  std::int64_t cap_mw = 0;                   // 0: none; kNoPowerMw and kLowestModeMw as sources say
  Setting setting;                           // wanted
  std::array<Duration, kKinds> minibatch{};  // newest, 0: none yet
  std::uint32_t workloads = 0;
  std::uint32_t measurements = 0;  // that answered a question or a choice
  std::uint32_t repeats = 0;       // of known settings, that looked for drift
  std::uint32_t drifts = 0;        // how often the world was found to have changed
  BoundedText<32> cap_source;      // which limit binds
  Goal goal;                       // as the policy has it
  RequestReport requests;          // newest of the inference workload; no span: none yet
  Battery battery;                 // as its newest readings tell; nothing where there is none
};

}  // namespace gearshift

// The answer to a status request: the daemon's Status with the names that its numbers need.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/protocol.h"
#include "controller/knob.h"
#include "controller/recording_state.h"
#include "controller/status.h"

namespace gearshift::wire {

// As an operator's program reads it; fields as in PROTOCOL.md.
struct StatusAnswer {
  std::string phase;
  bool power_known = false;
  bool power_is_estimate = false;
  std::int64_t power_mw = 0;
  std::int64_t cap_mw = 0;  // 0: none
  std::string cap_source;
  std::string objective;
  bool objective_by_default = false;  // nobody gave one
  std::int64_t energy_weight_ppm = 0;
  std::int64_t reference_ns = 0;  // of a sample, as weighted costs are measured against; 0: unknown
  std::int64_t reference_uj = 0;
  std::int64_t priced_power_mw = 0;
  std::int64_t latency_ns = 0;                       // limits; 0: none
  std::int64_t energy_uj = 0;                        // of a sample
  std::vector<std::pair<std::string, double>> mode;  // knob name, value in the unit of its name
  std::array<std::int64_t, kKinds> batch_size{};
  std::string run;
  std::array<std::int64_t, kKinds> minibatch_ns{};
  std::int64_t workloads = 0;
  std::int64_t measurements = 0;
  std::int64_t repeats = 0;
  std::int64_t drifts = 0;
  std::int64_t arrival_interval_ns = 0;  // mean, that is planned for; 0: not known
  std::int64_t latency_p99_ns = 0;       // of the newest report of requests, as are the next
  std::int64_t requests_served = 0;
  std::int64_t requests_late = 0;
  std::int64_t requests_queued = 0;
  Battery battery;                  // nothing where there is none
  std::int64_t battery_age_ns = 0;  // how long ago its energy was read
  std::string plan;                 // of the battery, for people; empty where there is none
  std::string heat;                 // which zones cannot be read, for people; empty where all can
  RecordingState recording;
};

// What the daemon answers. Values of a mode beyond the space's knobs are left out.
void pack(FrameBuffer& buffer, const Status& status, const KnobSpace& knobs,
          std::string_view plan = {}, std::string_view heat = {},
          const RecordingState& recording = {});

// An operator's program's side. Throws std::runtime_error saying what is wrong with the frame, or
// with the text of the daemon where it is an error.
StatusAnswer decode_status(std::string_view frame);
// For the requests that are answered by ok. Throws the same.
void decode_ok(std::string_view frame);

}  // namespace gearshift::wire

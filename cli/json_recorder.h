// Tells a program what the loop does: one JSON object a line, a line a decision.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/outlet.h"
#include "controller/controller.h"
#include "controller/knob.h"
#include "controller/recorder.h"

namespace gearshift {

// W of mW, and ms.
double to_watts(std::int64_t power_mw);
double to_ms(Duration duration);

// {"cpu_cores": 12, "cpu_mhz": 2201.6, ..., "train_batch": 16, "run": "both"}.
nlohmann::json to_json(const KnobSpace& space, const Setting& setting);
// {"objective": "weighted", "energy_weight": 0.75, "reference_ms": ..., "reference_j": ...}: what
// is minimised, and the limits beside the power cap.
nlohmann::json to_json(const Goal& goal);
// {"ok": true, "reason": "complete", "power_w": 29.8, "train": {"minibatch_ms": ...}, ...}. Energy
// is as the goal counts it (Observation::energy_j).
nlohmann::json to_json(const KnobSpace& space, const Observation& observation, const Goal& goal);

// {"quantity": "power", "unit": "W", "expected": 28.1, "measured": 21.3, "statistic": ...}.
nlohmann::json to_json(const DriftAlarm& alarm);
// How requests fared: counts, and percentiles of their latency in ms.
nlohmann::json to_json(const RequestReport& report);

// What the gauge tells of it: Wh, V, A.
// `age`: of its energy.
nlohmann::json to_json(const Battery& battery, Duration age);

// {"note": "unread", "lines": N}: so many before it were left out, since nobody read them in time.
std::string json_gap(std::uint64_t lines);

// Lines are {"note": NAME, "time_s": seconds since the start, ...}, written one by one. Every tenth
// status is a line of its own: {"note": "status", ...}. To an outlet the first line and those of
// statuses have "unix_s" too, the wall time: the first may be thrown away with the oldest of a log,
// and the clock may have been set since.
class JsonRecorder : public Recorder {
 public:
  // To `file`, which stays open: all of them, however long that takes.
  JsonRecorder(const KnobSpace& space, std::FILE* file) : space_(space), file_(file) {}
  // Those that `outlet`, which is borrowed, has room for; its gaps are json_gap's.
  JsonRecorder(const KnobSpace& space, Outlet& outlet) : space_(space), outlet_(&outlet) {}
  void tick(const TickInputs& inputs) override;
  void note(const Note& note) override;
  void status(const Status& status) override;
  // The errno of the first line that could not be written to the file, 0 where all could.
  int failure() const { return failure_; }

 private:
  void print(nlohmann::json line);
  double since_start(Time time) const { return start_ ? gearshift::seconds(time - *start_) : 0; }

  const KnobSpace& space_;
  std::FILE* file_ = nullptr;
  Outlet* outlet_ = nullptr;
  std::optional<Time> start_;
  Goal goal_;  // of the newest status
  std::uint32_t statuses_ = 0;
  bool printed_ = false;  // a line
  int failure_ = 0;
};

}  // namespace gearshift

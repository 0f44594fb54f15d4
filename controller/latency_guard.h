// The latency limit that holds whatever a policy says: judges how the newest requests fared.
#pragma once

#include <optional>

#include "controller/clock.h"
#include "controller/event.h"

namespace gearshift {

class LatencyGuard {
 public:
  // Where the 99th percentile has used up so much of the limit, the limit is near. Turns are
  // planned to end within nine tenths of it (controller/interleaving.h), and a slow minibatch goes
  // a little past.
  static constexpr double kNear = 0.98;
  // A server that does not report for so long after a step has nothing to answer.
  static constexpr Duration kQuiet = std::chrono::seconds(2);

  // Nullopt: none, and nothing is ever near.
  void set_limit(std::optional<Duration> latency);
  std::optional<Duration> limit() const { return limit_; }
  void add(const RequestReport& report);
  // Requests that came before a step may be late after it: reports that cover any time before
  // `time` are not judged.
  void rearm_at(Time time);

  // Whether a report counts: it covers no time before the guard was armed.
  bool judges(const RequestReport& report) const { return report.received - report.span >= armed_; }
  // True where a report since the guard was armed has a late request, or the limit is near.
  bool near() const { return near_; }
  // All reports that were judged since the guard was armed are in time; true too where none has
  // come for kQuiet.
  bool recovered(Time now) const;
  const RequestReport& newest() const { return newest_; }

 private:
  std::optional<Duration> limit_;
  RequestReport newest_;
  bool judged_ = true;  // a report has come since the guard was armed, or it never was
  bool near_ = false;
  Time armed_{};
};

}  // namespace gearshift

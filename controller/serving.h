// The requests of the managed server: how many come, whether they are in time, and what is held
// against the setting that they meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/arrival_rate.h"
#include "controller/clock.h"
#include "controller/event.h"
#include "controller/goal.h"
#include "controller/late_credit.h"
#include "controller/latency_guard.h"
#include "controller/setting.h"
#include "controller/stalls.h"

namespace gearshift {

// Requests a second that are planned for where fewer come one by one within the latency limit: even
// a batch of one waits no longer than half of it then, since requests do not wait for each other.
inline double least_planned_per_s(Duration latency) { return 2 / gearshift::seconds(latency); }

// Told what happens, and asked what it comes to: it commands nothing. What is to be in force where
// requests are late is the loop's to choose (controller/latency.cpp, controller/relief.cpp).
class Serving {
 public:
  // What a setting is in force for.
  enum class Use : std::uint8_t { measured, held, other };

  // A server came, or left (null): what was known of its requests is another one's. `goal` is the
  // one beside it.
  void meet(const Workload* server, const Goal& goal);
  // Any report of the server. True where the rate to plan for has changed.
  bool add(const RequestReport& report);
  // Whether all of the report's requests met what is in force now.
  bool judges(const RequestReport& report) const { return guard_.judges(report); }
  // A report that met the setting, before it is added: what is in time earns credit.
  void credit(const RequestReport& report, const Setting& setting, Use use);
  // A minibatch in the setting that is in force.
  void add(const Minibatch& minibatch) { stalls_.add(minibatch); }
  // It had the batch size of the setting, half of it at least.
  void fill(const Minibatch& minibatch);

  // Another setting is to be in force: other times are usual in it.
  void change() { stalls_.begin(); }
  // A measurement begins.
  void measure() { unfilled_ = 0; }
  // The policy's choice is in force.
  void hold(const Setting& setting, Time now);
  // Reports that cover any time before `time` are not judged: another setting served them.
  void rearm_at(Time time) { guard_.rearm_at(time); }
  // What was measured is forgotten, and what settings have earned with it.
  void forget();

  // Nullopt: no server is here that must answer in time.
  std::optional<Duration> limit() const { return guard_.limit(); }
  // Requests a second: what was asked for until they have been counted; 0: not known yet.
  double planned_per_s() const { return planned_per_s_; }
  // As counted, which may be fewer than are planned for.
  double counted_per_s() const {
    return arrivals_.per_s() > 0 ? arrivals_.per_s() : planned_per_s_;
  }
  // Nothing can be learnt of inference while nobody asks, and nothing be chosen before the rate is
  // known.
  bool awaits_requests(Time now) const;
  // Requests come, and something may serve them all.
  bool must_serve() const { return limit() && planned_per_s_ > 0 && !unserved_; }
  // The largest batch that fills in a quarter of the limit: it serves the most, and leaves time for
  // a slow mode; else the smallest.
  std::int32_t batch_size(const Workload& server) const;
  // So many requests of this measurement came in batches less than half full that batches of the
  // size are too large to fill in time.
  bool never_fills(std::int32_t batch_size) const;

  // Whether requests are late, or nearly. Once they are in time again they have not been late.
  bool late(Time now);
  bool recovered(Time now) const { return guard_.recovered(now); }
  bool late_for(Duration span, Time now) const { return late_since_ && now - *late_since_ >= span; }
  const RequestReport& newest() const { return guard_.newest(); }
  // All requests of the newest report were late, and came after `time`.
  bool answers_none_since(Time time) const;
  // "p99 71.2 ms of 60.0 ms, 3 late among 40": of the newest report. Needs a limit.
  std::string lateness() const;
  // Requests a second: what is planned for, or what the newest report has, where that is more.
  double pressing_per_s() const;
  // The rate at which what is late now is so: the same, but what is planned for where the newest
  // report has no more than chance brings, three standard deviations of a Poisson count.
  double late_per_s() const;

  // Where requests are late under a limit. A minibatch that stalled explains the newest report, and
  // the setting has credit for that: nothing is to be done.
  bool bears_stall(const Setting& setting, Use use);
  // Something is to be done about it, or is being done.
  void begin_lateness(Time now);
  // Whether lateness is held against the setting: what is held was in time when it was measured,
  // and once may be an accident, if it was no stall, whose accidents have been counted.
  bool blames(const Setting& setting, Use use);
  // The one asked of last; no setting to begin with.
  const Setting& late_setting() const { return late_setting_; }

  // Nothing that may be tried serves all requests. False where that was known.
  bool find_unserved();
  bool unserved() const { return unserved_; }
  void forget_unserved() { unserved_ = false; }
  // Nor does anything within the cap of a plan, which is to give way; above it something may.
  void nothing_serves_under(std::int64_t plan_mw);
  // Whether a plan does: it allows no more power than one that was found to serve nobody.
  bool gives_way(std::int64_t plan_mw) const;
  // To what one that does gives way, where the least power that is known to serve is `floor_mw`:
  // half of the way from there to what served nobody, until that is near.
  std::int64_t sought_mw(std::int64_t floor_mw) const;

 private:
  StallCredit& stall_credit(const Setting& setting, Use use);
  bool stalled() const { return stalls_.explain(newest(), *limit()); }

  ArrivalRate arrivals_;
  LatencyGuard guard_;
  Stalls stalls_;
  LateCredit late_credit_;
  StallCredit held_credit_, other_credit_;  // of what is held, and of anything else in force
  bool reports_ = false;                    // the server says how its requests fare
  double planned_per_s_ = 0;
  bool one_by_one_ = false;         // so requests come, as the rate says that is planned for
  std::int64_t unfilled_ = 0;       // requests served in batches that do not count
  std::optional<Time> late_since_;  // nullopt: they are in time
  Setting late_setting_;
  bool unserved_ = false;
  std::optional<std::int64_t> unserved_plan_mw_;  // the highest
};

}  // namespace gearshift

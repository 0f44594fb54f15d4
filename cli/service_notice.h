// What systemd is told of a daemon that it started: that it is ready, reloads or stops, and through
// its watchdog whether the loop meets its deadlines.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "controller/world.h"

namespace gearshift {

// When to feed a watchdog that bites after `patience`: four times in it, and only while the loop
// goes on. A loop that took longer than `most_gap` from one tick to the next does not: it is not
// fed for that tick, so that a loop which is always late is ended and its knobs are put back.
class WatchdogFeed {
 public:
  // As patient with the loop as the guardian process.
  static constexpr Duration kMostGap = std::chrono::seconds(1);

  explicit WatchdogFeed(Duration patience, Duration most_gap = kMostGap)
      : interval_(patience / 4), most_gap_(most_gap) {}

  // At each tick; true where the watchdog is to be fed now.
  bool due(Time now);

 private:
  Duration interval_;
  Duration most_gap_;
  std::optional<Time> newest_;
  std::optional<Time> fed_;
};

// One end of the protocol of sd_notify(3): datagrams to the socket that the environment names.
// Nothing here blocks or throws: a daemon does not depend on who started it.
class ServiceNotice {
 public:
  // From NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; says nothing to anybody without the first.
  static ServiceNotice from_environment();
  // `socket` is a path or, with '@' first, an abstract name; empty: nobody listens.
  explicit ServiceNotice(std::string_view socket, std::optional<Duration> watchdog = {});
  ~ServiceNotice();
  ServiceNotice(const ServiceNotice&) = delete;
  ServiceNotice& operator=(const ServiceNotice&) = delete;

  // Whether somebody is to be told, as where systemd has started a service of Type=notify.
  bool has_listener() const { return descriptor_ >= 0; }
  void send(const std::string& words) const;
  // What the watchdog waits for, where there is one.
  const std::optional<Duration>& watchdog() const { return watchdog_; }

 private:
  std::string address_;  // as in sockaddr_un, an abstract name with its leading 0
  int descriptor_ = -1;
  std::optional<Duration> watchdog_;
};

// The world, seen by systemd as the loop goes through it.
class NoticedWorld : public World {
 public:
  // Both borrowed.
  NoticedWorld(World& world, const ServiceNotice& notice);

  // Ready after the first wait: endpoints are bound, the board is open, nothing is written yet.
  Time wait_until(Time deadline, EventBuffer& events) override;
  void command(WorkloadHandle workload, const WorkloadCommand& command) override {
    world_.command(workload, command);
  }
  std::string_view script() override { return world_.script(); }
  void publish(const Status& status) override;

 private:
  World& world_;
  const ServiceNotice& notice_;
  std::optional<WatchdogFeed> feed_;
  bool ready_ = false;
  bool reloading_ = false;
  std::optional<Phase> phase_;
};

}  // namespace gearshift

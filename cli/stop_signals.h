// Signals that end a program, taken when it asks for them. Sleeps: that is how it asks.
#pragma once

#include <algorithm>
#include <csignal>
#include <ctime>

#include "controller/clock.h"

namespace gearshift {

// SIGINT and SIGTERM wait to be asked for; the client's thread inherits that.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // Sleeps until the time is over or a signal came: true then.
  bool sleep(Duration duration) const {
    const std::int64_t ns = std::max<std::int64_t>(0, duration.count());
    constexpr std::int64_t kSecond = 1'000'000'000;
    const timespec timeout{ns / kSecond, ns % kSecond};
    return sigtimedwait(&set_, nullptr, &timeout) > 0;
  }

 private:
  sigset_t set_{};
};

}  // namespace gearshift

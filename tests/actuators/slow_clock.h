// A clock that makes a step to the safe mode last, and shows that it goes on.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "controller/clock.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift::fakes {

// Each question is a byte in a pipe, and is answered late.
class SlowClock final : public Clock {
 public:
  SlowClock() { EXPECT_EQ(pipe(asked_), 0); }
  ~SlowClock() override {
    for (const int end : asked_) close(end);
  }
  SlowClock(const SlowClock&) = delete;
  SlowClock& operator=(const SlowClock&) = delete;

  Time now() const override {
    [[maybe_unused]] const ssize_t size = write(asked_[1], "?", 1);
    poll(nullptr, 0, 20);
    return clock_.now();
  }
  // In another process than that which asks.
  void await_question() const {
    pollfd item{.fd = asked_[0], .events = POLLIN, .revents = 0};
    char word = 0;
    EXPECT_TRUE(poll(&item, 1, 20'000) == 1 && read(asked_[0], &word, 1) == 1);
  }

 private:
  TickingClock clock_;
  int asked_[2] = {-1, -1};
};

}  // namespace gearshift::fakes

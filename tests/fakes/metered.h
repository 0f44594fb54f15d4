// A meter and what it is fed: readings every 100 ms, judged over windows of 400 ms. Times count
// from where the measurement began.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "controller/meter.h"
#include "tests/fakes/since_start.h"

namespace gearshift::fakes {

class Metered : public testing::Test {
 protected:
  static constexpr Duration kWindow = std::chrono::milliseconds(400);
  static constexpr Duration kPeriod = std::chrono::milliseconds(100);

  void power(Duration since, std::int64_t mw, bool estimate = false) {
    meter_.add(Reading{.quantity = Quantity::power,
                       .state = ReadingState::ok,
                       .estimate = estimate,
                       .value = mw,
                       .taken = at(since)});
  }
  // A reading each kPeriod in (from, to].
  void power_until(Duration from, Duration to, std::int64_t mw) {
    for (Duration t = from + kPeriod; t <= to; t += kPeriod) power(t, mw);
  }
  bool answers(Duration since) const { return meter_.answer(at(since)).has_value(); }

  MeterOptions options_;
  Meter meter_{options_, kWindow};
};

}  // namespace gearshift::fakes

// The boot clock: the one place of the program that tells the time of CLOCK_BOOTTIME.
#pragma once

#include <time.h>

#include <chrono>

#include "controller/clock.h"

namespace gearshift {

class BoottimeClock : public Clock {
 public:
  Time now() const override {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return Time(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

}  // namespace gearshift

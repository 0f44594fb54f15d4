// The clocks of the machine: the one place of the program that asks them for the time.
#pragma once

#include <time.h>

#include <chrono>
#include <ctime>
#include <string>

#include "controller/clock.h"
#include "limits/timetable.h"

namespace gearshift {

// What one of the machine's clocks shows.
inline Duration shown_by(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

class BoottimeClock : public Clock {
 public:
  Time now() const override { return Time(shown_by(CLOCK_BOOTTIME)); }
};

// Milliseconds of wall time since 1970, for what people read; the loop never sees it.
inline std::int64_t unix_time_ms() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

// CLOCK_MONOTONIC, which stands still while the machine is suspended: for systemd, which wants to
// be told of a reload in it, and for what a battery without a gauge gives. The loop never sees it.
inline Duration monotonic_since_boot() { return shown_by(CLOCK_MONOTONIC); }

// What the thread that asks has used of processors; the loop never sees it.
inline Duration thread_processor_time() { return shown_by(CLOCK_THREAD_CPUTIME_ID); }

// What the clock on the wall shows here: in the zone of TZ, or without it in the machine's, which
// may be another one each time. Where the zone's rules are not to be had it is that of UTC
// (schedule_text.h refuses such a TZ).
inline LocalTime local_time() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  tm shown{};
  tzset();  // localtime_r alone knows the zone of the first call
  if (localtime_r(&time.tv_sec, &shown) == nullptr) gmtime_r(&time.tv_sec, &shown);
  return {(shown.tm_wday + 6) % 7, std::chrono::hours(shown.tm_hour) +
                                       std::chrono::minutes(shown.tm_min) +
                                       std::chrono::seconds(shown.tm_sec)};
}

// What people call its zone now: "CET", or in summer "CEST".
inline std::string local_zone() {
  const std::time_t now =
      std::chrono::duration_cast<std::chrono::seconds>(shown_by(CLOCK_REALTIME)).count();
  tm shown{};
  tzset();
  const bool known = localtime_r(&now, &shown) != nullptr && shown.tm_zone != nullptr;
  return known ? shown.tm_zone : "UTC";
}

}  // namespace gearshift

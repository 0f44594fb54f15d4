#include "actuators/clock_watch.h"

#include <cstdlib>

namespace gearshift {

bool ClockWatch::follows(std::int64_t actual, std::int64_t wanted) {
  return std::abs(actual - wanted) <= wanted / 100;
}

void ClockWatch::expect(std::int64_t wanted) {
  wanted_ = wanted;
  followed_ = off_once_ = false;
  told_.reset();
}

std::int64_t ClockWatch::judge(std::int64_t actual) {
  if (follows(actual, wanted_)) {
    followed_ = true;
    off_once_ = false;
    told_.reset();
    return wanted_;
  }
  if (followed_ && !off_once_) {
    off_once_ = true;
    return wanted_;
  }
  if (!told_) told_ = actual;
  return *told_;
}

}  // namespace gearshift

// How much a client may still do: so many a second, and as many at once after a pause.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "controller/clock.h"

namespace gearshift {

class Allowance {
 public:
  Allowance(std::uint32_t per_s, Time now)
      : per_s_(static_cast<double>(per_s)), left_(per_s_), counted_(now) {}

  std::size_t left(Time now) {
    const double more = std::clamp(gearshift::seconds(now - counted_), 0.0, 1.0) * per_s_;
    left_ = std::min(per_s_, left_ + more);
    counted_ = now;
    return static_cast<std::size_t>(std::max(0.0, left_));
  }
  void spend(std::size_t count) { left_ -= static_cast<double>(count); }

 private:
  const double per_s_;
  double left_;
  Time counted_;
};

}  // namespace gearshift

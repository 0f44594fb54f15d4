#include "simulator/sensor_lag.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace gearshift {
namespace {

// The longest mean of 1024 samples; steps that ended before it are forgotten.
constexpr Duration kMemory = std::chrono::milliseconds(1000);

}  // namespace

SensorLag::SensorLag(LagShape shape, Duration constant) : shape_(shape), constant_(constant) {}

void SensorLag::change(Time now, const RailPower& power) {
  lagged_ = steps_.empty() ? power : first_order(now);
  if (!steps_.empty() && steps_.back().since == now) steps_.pop_back();
  steps_.push_back({now, power});
  while (steps_.size() > 1 && now - steps_[1].since >= kMemory) steps_.pop_front();
}

RailPower SensorLag::value(Time now) const {
  return shape_ == LagShape::boxcar ? boxcar(now) : first_order(now);
}

void SensorLag::set_constant(Time now, Duration constant) {
  lagged_ = first_order(now);
  steps_.push_back({now, steps_.back().power});
  constant_ = constant;
}

// The board was at its first power for ever before the first change.
RailPower SensorLag::boxcar(Time now) const {
  RailPower mean;
  const Time begin = now - constant_;
  Time end = now;
  for (auto step = steps_.rbegin(); step != steps_.rend() && end > begin; ++step) {
    const bool oldest = step + 1 == steps_.rend();
    const Time since = oldest ? begin : std::max(begin, step->since);
    const double share = seconds(end - since) / seconds(constant_);
    for (std::size_t rail = 0; rail < kRails; ++rail) {
      mean.mw[rail] += share * step->power.mw[rail];
    }
    end = since;
  }
  return mean;
}

RailPower SensorLag::first_order(Time now) const {
  const Step& last = steps_.back();
  const double left = std::exp(-seconds(now - last.since) / seconds(constant_));
  RailPower value;
  for (std::size_t rail = 0; rail < kRails; ++rail) {
    value.mw[rail] = last.power.mw[rail] + left * (lagged_.mw[rail] - last.power.mw[rail]);
  }
  return value;
}

}  // namespace gearshift

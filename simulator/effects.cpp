#include "simulator/effects.h"

#include <algorithm>
#include <stdexcept>

namespace gearshift {
namespace {

void switch_on(std::string_view word, Effects& effects) {
  if (word == "jitter") {
    effects.jitter = 0.03;
    effects.highest_jitter = 0.057;
  } else if (word == "first") {
    effects.first_minibatch = std::chrono::milliseconds(3500);
    effects.first_minibatch_most = std::chrono::milliseconds(14'000);
  } else if (word == "lag") {
    effects.lag = LagShape::boxcar;
    effects.lag_constant = std::chrono::milliseconds(430);
  } else if (word == "slow-lag") {
    effects.lag = LagShape::first_order;
    effects.lag_constant = std::chrono::milliseconds(700);
  } else if (word == "noise") {
    effects.sensor_noise = 0.02;
  } else if (word == "quantised") {
    effects.quantised = true;
  } else if (word == "unapplied") {
    effects.unapplied_share = 0.007;
  } else if (word == "hotplug") {
    effects.hotplug = true;
  } else if (word == "stalls") {
    effects.stall = std::chrono::milliseconds(45);
  } else {
    throw std::invalid_argument(
        "'" + std::string(word) +
        "' is no effect: give none, all, or some of jitter, first, lag, slow-lag, noise, "
        "quantised, unapplied, hotplug and stalls with commas between them");
  }
}

}  // namespace

Effects parse_effects(std::string_view text) {
  Effects effects;
  if (text == "none") return effects;
  if (text == "all") text = "jitter,first,lag,noise,unapplied,hotplug";
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    switch_on(text.substr(0, comma), effects);
    if (comma == text.size()) return effects;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace gearshift

#include "simulator/simulated_knobs.h"

#include <utility>

#include "controller/setting.h"
#include "simulator/noise.h"

namespace gearshift {

SimulatedKnobs::SimulatedKnobs(KnobSpace space, const PowerMode& first, const Effects& effects,
                               std::uint64_t seed, Exists exists)
    : space_(std::move(space)),
      effects_(effects),
      seed_(seed),
      exists_(std::move(exists)),
      first_(first),
      mode_(first),
      asked_(first),
      before_(first) {}

Progress SimulatedKnobs::write(std::size_t knob, std::int64_t value) {
  if (judged_) asked_ = mode_;
  judged_ = false;
  const bool steps = effects_.hotplug && space_.knobs[knob].knob_class == KnobClass::hotplug;
  std::int64_t& asked = asked_.values[knob];
  if (steps && value != asked) {
    asked += value > asked ? 1 : -1;
  } else {
    asked = value;
  }
  if (rejected_ && asked_ == *rejected_) {
    mode_ = before_;
    rejected_.reset();
    judged_ = true;
    throw KnobError("the profile has no cell for " + space_.describe(asked_) +
                    "; fill it from the nearest cell or by the model, or keep to measured ones");
  }
  mode_.values[knob] = asked;
  return asked == value ? Progress::done : Progress::more;
}

std::int64_t SimulatedKnobs::read(std::size_t knob) {
  if (!judged_) judge();
  return mode_.values[knob];
}

void SimulatedKnobs::restore() {
  mode_ = asked_ = before_ = first_;
  judged_ = true;
  rejected_.reset();
}

// A mixture with a number of cores that nobody can ask for belongs to a change under way.
void SimulatedKnobs::judge() {
  if (!space_.contains(asked_)) return;
  judged_ = true;
  rejected_.reset();
  if (asked_ != first_ && !exists_(asked_)) {
    rejected_ = asked_;
    mode_ = before_;
    return;
  }
  mode_ = asked_;
  if (unapplied(asked_)) {
    // The request for one clock went unheard: the first that differs, from a place by the hash on.
    const std::uint64_t bits = noise_bits(seed_, Stream::unapplied_knob, hash({.mode = asked_}));
    for (std::size_t i = 0; i < space_.size(); ++i) {
      const std::size_t knob = (bits + i) % space_.size();
      if (space_.knobs[knob].knob_class != KnobClass::clock) continue;
      if (before_.values[knob] == asked_.values[knob]) continue;
      mode_.values[knob] = before_.values[knob];
      return;
    }
  }
  before_ = mode_;
}

bool SimulatedKnobs::unapplied(const PowerMode& mode) const {
  return effects_.unapplied_share > 0 && mode != first_ &&
         uniform_noise(seed_, Stream::unapplied, hash({.mode = mode})) <= effects_.unapplied_share;
}

}  // namespace gearshift

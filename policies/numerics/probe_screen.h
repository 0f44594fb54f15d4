// Which settings are looked at closely where the next probe is chosen: of training and of inference
// alone (next_probe.h) and of both beside one another (interleaved_probe.h).
#pragma once

namespace gearshift {

// Settings whose mean power is farther over the limit than e^this, and than the process is unsure
// of it, are not looked at closely.
inline constexpr double kFarOver = 0.16;
// How much a setting over the limit on average counts as slower in the choice of those looked at.
inline constexpr double kOverWeight = 1.25;
// What a setting that is no better than the slowest one still counts while nothing is known to keep
// the goal.
inline constexpr double kLeastImprovement = 0.05;
// How far below the limit mean power must be (natural logarithm) of the settings looked at, where
// none of those nearer to it has the odds that are asked for. The first is no such bound.
inline constexpr double kBelow[] = {0, 0.03, 0.08, 0.15, 0.3};

}  // namespace gearshift

// The mean of the power readings of the last window: what "over the cap" is judged by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "controller/clock.h"
#include "controller/event.h"

namespace gearshift {

// Holds at most kMost readings; more of them a window than that are thinned by dropping the oldest.
class PowerWindow {
 public:
  explicit PowerWindow(Duration length) : length_(length) {}

  // Takes a power reading whose state is ok; one that is not newer than the last is ignored.
  void add(const Reading& reading);
  void clear() { count_ = 0; }

  bool empty() const { return count_ == 0; }
  Time newest() const { return at(count_ - 1).taken; }  // not when empty
  std::int64_t newest_mw() const { return at(count_ - 1).mw; }
  // Mean in mW of the readings taken in (end - length, end]; nullopt where there is none.
  std::optional<std::int64_t> mean_mw(Time end) const;
  // The highest mean in mW of the newest readings of that window, of however many: what began
  // within it may draw as much, though the mean of all of it is less. Nullopt as mean_mw().
  std::optional<std::int64_t> highest_newest_mw(Time end) const;
  // Where readings that rise by ever less are on their way to, in mW: what a sensor with a
  // first-order lag will show, by Aitken's delta-squared process (A. C. Aitken, 1926) on the newest
  // three and on the three before them, the lower of both. Nullopt where they do not rise so, by
  // kLeastRise a time at least, or the two disagree: noise, a step, the ramp of a sensor that
  // averages.
  std::optional<std::int64_t> settling_mw(Time end) const;
  Duration length() const { return length_; }

 private:
  static constexpr std::size_t kMost = 256;
  static constexpr double kLeastRise = 0.04;
  // Of a rise and the one before it: below, it is a step that is over; above, it has no end.
  static constexpr double kLeastRatio = 0.3;
  static constexpr double kMostRatio = 0.92;
  static constexpr double kAgrees = 0.1;
  struct Sample {
    Time taken;
    std::int64_t mw;
  };
  struct Means {
    std::int64_t all_mw;             // of all readings in the window
    std::int64_t highest_newest_mw;  // of the newest, of however many
  };
  std::optional<Means> means(Time end) const;  // nullopt where the window has no reading
  std::optional<double> settling_from(std::size_t first) const;
  const Sample& at(std::size_t i) const { return samples_[(first_ + i) % kMost]; }

  Duration length_;
  std::array<Sample, kMost> samples_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace gearshift

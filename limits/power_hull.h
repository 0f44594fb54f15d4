// The most work a board does at each mean power, by taking turns between two of its settings.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gearshift {

// A charger may give more than the board draws, and nothing divides by 0: what a battery counts as
// drained by at least, in W.
inline constexpr double kLeastDrainW = 1e-3;

// What a setting does: mean power of the board in W, and samples a second there.
struct WorkPoint {
  double power_w = 0;
  double samples_per_s = 0;

  friend bool operator==(const WorkPoint&, const WorkPoint&) = default;
};

// The upper concave hull of the points, from the least power to the most work: its vertices, by
// Andrew's monotone chain (A. M. Andrew, 1979). A share x of the time in one setting and 1 - x in
// another lies on the line between the two, so that nothing above the hull can be had, and all of
// it can.
class PowerHull {
 public:
  PowerHull() = default;
  // A point whose power is not above 0, or whose work is negative, or either of which is not
  // finite, is left out. A point of no work stands for a pause.
  explicit PowerHull(std::span<const WorkPoint> points);

  bool empty() const { return vertices_.empty(); }
  // Power and work both rise.
  std::span<const WorkPoint> vertices() const { return vertices_; }
  // Samples a second at the mean power; at the nearest end where it lies outside the hull's.
  double samples_per_s(double power_w) const;
  // The least mean power that does so much; nullopt where no setting is so fast.
  std::optional<double> power_w(double samples_per_s) const;
  // What is left of it where no setting may draw more than `power_w`: the least that there is where
  // none draws so little. A bound, since turns with a higher one are what reaches its last vertex.
  PowerHull up_to(double power_w) const;
  // The vertex that does most a joule, where `other_w` flows whatever the board does.
  std::size_t most_efficient(double other_w) const;
  // The first of the two vertices that a mean power lies between, never the last; 0 where there is
  // only one.
  std::size_t segment(double power_w) const;

 private:
  std::vector<WorkPoint> vertices_;
};

}  // namespace gearshift

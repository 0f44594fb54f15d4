#include "limits/power_hull.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

bool usable(const WorkPoint& point) {
  return std::isfinite(point.power_w) && std::isfinite(point.samples_per_s) && point.power_w > 0 &&
         point.samples_per_s >= 0;
}

// Above 0 where `middle` lies above the line from `first` to `last`.
double rise(const WorkPoint& first, const WorkPoint& middle, const WorkPoint& last) {
  return (middle.samples_per_s - first.samples_per_s) * (last.power_w - first.power_w) -
         (last.samples_per_s - first.samples_per_s) * (middle.power_w - first.power_w);
}

}  // namespace

PowerHull::PowerHull(std::span<const WorkPoint> points) {
  std::vector<WorkPoint> sorted;
  std::copy_if(points.begin(), points.end(), std::back_inserter(sorted), usable);
  std::sort(sorted.begin(), sorted.end(), [](const WorkPoint& a, const WorkPoint& b) {
    return a.power_w != b.power_w ? a.power_w < b.power_w : a.samples_per_s > b.samples_per_s;
  });
  for (const WorkPoint& point : sorted) {
    if (!vertices_.empty() && point.samples_per_s <= vertices_.back().samples_per_s) continue;
    while (vertices_.size() >= 2 &&
           rise(vertices_[vertices_.size() - 2], vertices_.back(), point) <= 0) {
      vertices_.pop_back();
    }
    vertices_.push_back(point);
  }
}

std::size_t PowerHull::segment(double power_w) const {
  std::size_t i = 0;
  while (i + 2 < vertices_.size() && vertices_[i + 1].power_w <= power_w) ++i;
  return i;
}

double PowerHull::samples_per_s(double power_w) const {
  if (vertices_.empty()) return 0;
  if (power_w <= vertices_.front().power_w) return vertices_.front().samples_per_s;
  if (power_w >= vertices_.back().power_w) return vertices_.back().samples_per_s;
  const WorkPoint& low = vertices_[segment(power_w)];
  const WorkPoint& high = vertices_[segment(power_w) + 1];
  const double share = (power_w - low.power_w) / (high.power_w - low.power_w);
  return low.samples_per_s + share * (high.samples_per_s - low.samples_per_s);
}

std::optional<double> PowerHull::power_w(double samples_per_s) const {
  if (vertices_.empty() || samples_per_s > vertices_.back().samples_per_s) return std::nullopt;
  if (samples_per_s <= vertices_.front().samples_per_s) return vertices_.front().power_w;
  std::size_t i = 0;
  while (vertices_[i + 1].samples_per_s < samples_per_s) ++i;
  const WorkPoint& low = vertices_[i];
  const WorkPoint& high = vertices_[i + 1];
  const double share =
      (samples_per_s - low.samples_per_s) / (high.samples_per_s - low.samples_per_s);
  return low.power_w + share * (high.power_w - low.power_w);
}

PowerHull PowerHull::up_to(double power_w) const {
  PowerHull cut;
  for (const WorkPoint& vertex : vertices_) {
    if (cut.vertices_.empty() || vertex.power_w <= power_w) cut.vertices_.push_back(vertex);
  }
  const bool between =
      cut.vertices_.size() < vertices_.size() && cut.vertices_.back().power_w < power_w;
  if (between) cut.vertices_.push_back({power_w, samples_per_s(power_w)});
  return cut;
}

std::size_t PowerHull::most_efficient(double other_w) const {
  std::size_t best = 0;
  const auto samples_per_j = [&](const WorkPoint& point) {
    return point.samples_per_s / std::max(kLeastDrainW, point.power_w + other_w);
  };
  for (std::size_t i = 1; i < vertices_.size(); ++i) {
    if (samples_per_j(vertices_[i]) > samples_per_j(vertices_[best])) best = i;
  }
  return best;
}

}  // namespace gearshift

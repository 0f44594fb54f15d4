// What is predicted of every setting of a grid, and choices among them: the candidates of a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "controller/goal.h"
#include "policies/numerics/roofline.h"
#include "policies/numerics/setting_grid.h"

namespace gearshift {

// One entry a setting of the grid, by its number: the predicted natural logarithms of minibatch
// time (ms) and board power (W), with the standard deviations of what a measurement would show.
struct Surface {
  std::vector<float> log_time;
  std::vector<float> log_power;
  std::vector<float> time_deviation;
  std::vector<float> power_deviation;
  std::vector<std::uint8_t> excluded;  // 1: is not chosen any more

  explicit Surface(std::size_t size)
      : log_time(size),
        log_power(size),
        time_deviation(size),
        power_deviation(size),
        excluded(size) {}
  std::size_t size() const { return log_time.size(); }
};

Surface roofline_surface(const DeviceParameters& device, const RooflineEstimate& estimate,
                         const SettingGrid& grid);

// Which settings a choice is made among: not excluded, with power at most `power_w` even so many
// deviations above its mean, and in time for the goal even with log time so many above its own.
struct SurfaceChoice {
  double power_w = std::numeric_limits<double>::infinity();
  double deviations = 0;
  double time_deviations = 0;
};

// The number of the setting with the least predicted value of the goal; of equals the first.
std::optional<std::size_t> best_setting(const Surface& surface, const SettingGrid& grid,
                                        const Goal& goal, const SurfaceChoice& among);
// The one whose measurement would tell most: the largest product of the deviations of time and
// power. It need not be in time; but of requests that come one by one, what is late is cut short,
// and the product counts with the odds that it is in time. With a model of few parameters this is,
// to first order, the next point of a D-optimal design.
std::optional<std::size_t> least_known_setting(const Surface& surface, const SettingGrid& grid,
                                               const Goal& goal, const SurfaceChoice& among);

// Numbers of the settings on the Pareto front of predicted power and the goal's value, lowest power
// first, among those allowed; not more than `most` of them, evenly drawn from a longer front.
std::vector<std::size_t> surface_front(const Surface& surface, const SettingGrid& grid,
                                       const Goal& goal, const SurfaceChoice& among,
                                       std::size_t most);

}  // namespace gearshift

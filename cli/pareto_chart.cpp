// The picture of `gearshift pareto`.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

#include "cli/pareto_report.h"
#include "evaluation/chart.h"

namespace gearshift {
namespace {

constexpr double kAnyStep = std::numeric_limits<double>::infinity();

std::string note_of(const Pareto& pareto, const SettingCost& cost) {
  return fmt::format("{} batch={}: {:.2f} W, {:.2f} ms", pareto.knobs.describe(cost.mode),
                     cost.batch_size, cost.power_w, cost.time_ms);
}

ChartPoint point_of(const Pareto& pareto, const SettingCost& cost) {
  return {cost.power_w, cost.time_ms, note_of(pareto, cost)};
}

std::vector<ChartPoint> front_of(const Pareto& pareto, const TradeOff& costs) {
  std::vector<ChartPoint> points;
  for (const std::size_t index : costs.power_and_time) {
    points.push_back(point_of(pareto, costs.settings[index]));
  }
  return points;
}

// The true costs of what is predicted to be on the front.
std::vector<ChartPoint> true_front(const Pareto& pareto) {
  std::vector<ChartPoint> points;
  for (const std::size_t index : pareto.predicted->power_and_time) {
    const SettingCost* const measured = measured_cost(pareto, pareto.predicted->settings[index]);
    if (measured != nullptr) points.push_back(point_of(pareto, *measured));
  }
  return points;
}

struct Picture {
  Chart chart;
  std::vector<std::string> names;

  void add(const std::string& name, std::vector<ChartPoint> points, bool joined) {
    if (points.empty()) return;
    chart.series.push_back({.series = names.size(),
                            .points = std::move(points),
                            .joined = joined,
                            .widest_step = kAnyStep});
    names.push_back(name);
  }
};

void add_choice(const Pareto& pareto, const TradeOff& costs, const std::string& how,
                Picture& picture) {
  const auto choice = fastest_under(costs, *pareto.cap_w);
  if (!choice) return;
  const SettingCost& cost = costs.settings[*choice];
  const SettingCost* const measured = how == "predicted" ? measured_cost(pareto, cost) : nullptr;
  picture.add(fmt::format("the choice for {:g} W, {}", *pareto.cap_w, how),
              {point_of(pareto, cost)}, false);
  if (measured != nullptr) {
    picture.add("the same setting, measured", {point_of(pareto, *measured)}, false);
  }
}

}  // namespace

std::string pareto_svg(const Pareto& pareto) {
  double least_w = kAnyStep;
  double most_w = 0;
  double least_ms = kAnyStep;
  double most_ms = 0;
  std::vector<ChartPoint> cloud;
  const TradeOff& shown = pareto.predicted ? *pareto.predicted : *pareto.measured;
  for (const TradeOff* const costs : {&shown, &pareto.any()}) {
    for (const SettingCost& cost : costs->settings) {
      if (costs == &shown && cloud.size() < shown.settings.size()) {
        cloud.push_back({cost.power_w, cost.time_ms, ""});
      }
      least_w = std::min(least_w, cost.power_w);
      most_w = std::max(most_w, cost.power_w);
      least_ms = std::min(least_ms, cost.time_ms);
      most_ms = std::max(most_ms, cost.time_ms);
    }
  }
  const std::string how = pareto.predicted ? "predicted" : "measured";
  const std::string other = other_model(pareto);
  Picture picture{.chart = {.description = pareto.device + ' ' + pareto.workload +
                                           (other.empty() ? "" : ", by a model of " + other),
                            .x = Axis("power, W", Spacing::linear, least_w, most_w),
                            .y = Axis(fmt::format("time of {} sample{}, ms", pareto.any().samples,
                                                  pareto.any().samples == 1 ? "" : "s"),
                                      Spacing::logarithmic, least_ms, most_ms),
                            .cloud = std::move(cloud),
                            .fronts = {},
                            .series = {}},
                  .names = {}};
  if (pareto.measured) picture.add("front, measured", front_of(pareto, *pareto.measured), true);
  if (pareto.predicted) {
    picture.add("front, predicted", front_of(pareto, *pareto.predicted), true);
    picture.add("what is predicted to be the front, measured", true_front(pareto), true);
  }
  if (pareto.cap_w && pareto.measured) add_choice(pareto, *pareto.measured, "measured", picture);
  if (pareto.cap_w && pareto.predicted) {
    add_choice(pareto, *pareto.predicted, "predicted", picture);
  }
  return svg_file(picture.chart, picture.names,
                  fmt::format("{} settings, {}", shown.settings.size(), how));
}

}  // namespace gearshift

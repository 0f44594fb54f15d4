#include "policies/powertrain/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gearshift {
namespace {

struct Published {
  std::string_view device;
  std::string_view workload;
  Method method;
  std::size_t modes;  // 0: any
  PublishedError error;
};

constexpr std::string_view kOrin = "jetson-agx-orin";
// Figures that the text of sections 4.2 and 4.3 gives; the others are bars in its plots.
constexpr std::array<Published, 12> kPublished = {{
    {kOrin, "resnet", Method::reference, 0, {9.7, 4.8}},  // the upper end of its range
    {kOrin, "mobnet", Method::reference, 0, {8.1, 3.6}},
    {kOrin, "mobnet", Method::afresh, 10, {52.6, {}}},
    {kOrin, "mobnet", Method::afresh, 20, {{}, 12.0}},
    {kOrin, "mobnet", Method::afresh, 30, {35.0, {}}},
    {kOrin, "mobnet", Method::transferred, 10, {26.7, {}}},
    {kOrin, "mobnet", Method::transferred, 20, {{}, 8.5}},
    {kOrin, "mobnet", Method::transferred, 50, {15.7, 5.2}},
    {kOrin, "mobnet", Method::transferred, 100, {11.9, 4.3}},
    {kOrin, "lstm", Method::transferred, 50, {12.5, 6.3}},
    {kOrin, "lstm", Method::afresh, 50, {12.3, 9.1}},
    {"jetson-orin-nano-8gb", "resnet", Method::transferred, 50, {7.85, 5.96}},
}};

ComparisonRow row_of(const Profile& profile, Method method, std::size_t modes,
                     std::span<const PredictionError> errors) {
  std::vector<double> time;
  std::vector<double> power;
  for (const PredictionError& error : errors) {
    time.push_back(error.time_percent);
    power.push_back(error.power_percent);
  }
  return {profile.device, profile.workload,           method,
          modes,          quartiles(std::move(time)), quartiles(std::move(power))};
}

}  // namespace

std::string_view method_name(Method method) {
  return method == Method::reference ? "all" : method == Method::afresh ? "NN" : "PowerTrain";
}

Quartiles quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    const double rank = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(rank);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (rank - std::floor(rank)) * (values[above] - values[below]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

PublishedError published_error(std::string_view device, std::string_view workload, Method method,
                               std::size_t modes) {
  for (const Published& one : kPublished) {
    if (one.device == device && one.workload == workload && one.method == method &&
        (one.modes == 0 || one.modes == modes)) {
      return one.error;
    }
  }
  return {};
}

std::vector<ComparisonRow> compare(const NetworkModule& module, const Profile& reference,
                                   std::span<const Profile> targets,
                                   const ComparisonOptions& options) {
  constexpr Method kMethods[] = {Method::afresh, Method::transferred};
  std::size_t done = 0;
  const std::size_t total = 1 + targets.size() * options.modes.size() * options.repeats * 2;
  const auto tell = [&] {
    ++done;
    if (options.progress) options.progress(done, total);
  };
  const std::vector<std::size_t> all = timed_cells(reference);
  const Predictor trained = train_predictor(module, reference, all, options.training);
  const PredictionError own = prediction_error(module, trained, reference, all);
  std::vector<ComparisonRow> rows = {
      row_of(reference, Method::reference, all.size(), std::span(&own, 1))};
  tell();
  for (const Profile& target : targets) {
    const std::vector<std::size_t> cells = timed_cells(target);
    for (const std::size_t modes : options.modes) {
      std::array<std::vector<PredictionError>, 2> errors;
      for (std::size_t repeat = 0; repeat < options.repeats; ++repeat) {
        TrainingOptions training = options.training;
        training.seed += repeat;
        const std::vector<std::size_t> drawn = draw_cells(cells, modes, training.seed);
        for (std::size_t i = 0; i < 2; ++i) {
          const Predictor predictor =
              kMethods[i] == Method::afresh
                  ? train_predictor(module, target, drawn, training)
                  : transfer_predictor(module, trained, target, drawn, training);
          errors[i].push_back(prediction_error(module, predictor, target, cells));
          tell();
        }
      }
      for (std::size_t i = 0; i < 2; ++i) {
        rows.push_back(row_of(target, kMethods[i], std::min(modes, cells.size()), errors[i]));
      }
    }
  }
  return rows;
}

}  // namespace gearshift

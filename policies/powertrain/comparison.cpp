#include "policies/powertrain/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gearshift {
namespace {

struct Published {
  std::string_view device;
  std::string_view workload;
  std::int32_t batch_size;
  Method method;
  std::size_t modes;  // 0: any
  PublishedError error;
};

constexpr std::string_view kOrin = "jetson-agx-orin";
constexpr std::string_view kXavier = "jetson-agx-xavier";
constexpr std::string_view kNano = "jetson-orin-nano-8gb";
// Figures that the text of sections 4.2 and 4.3 gives; the others are bars in its plots. Of ranges
// the upper end.
constexpr std::array<Published, 21> kPublished = {{
    {kOrin, "resnet", 16, Method::reference, 0, {9.7, 4.8}},
    {kOrin, "mobnet", 16, Method::reference, 0, {8.1, 3.6}},
    {kOrin, "mobnet", 16, Method::afresh, 10, {52.6, {}}},
    {kOrin, "mobnet", 16, Method::afresh, 20, {{}, 12.0}},
    {kOrin, "mobnet", 16, Method::afresh, 30, {35.0, {}}},
    {kOrin, "mobnet", 16, Method::transferred, 10, {26.7, {}}},
    {kOrin, "mobnet", 16, Method::transferred, 20, {{}, 8.5}},
    {kOrin, "mobnet", 16, Method::transferred, 50, {15.7, 5.2}},
    {kOrin, "mobnet", 16, Method::transferred, 100, {11.9, 4.3}},
    {kOrin, "lstm", 16, Method::transferred, 50, {12.5, 6.3}},
    {kOrin, "lstm", 16, Method::afresh, 50, {12.3, 9.1}},
    {kNano, "resnet", 16, Method::transferred, 50, {7.85, 5.96}},
    {kNano, "mobnet", 16, Method::transferred, 50, {8.98, 4.72}},
    {kXavier, "resnet", 16, Method::transferred, 50, {12.0, 11.0}},
    {kXavier, "resnet", 16, Method::afresh, 50, {21.0, 18.0}},
    {kXavier, "mobnet", 16, Method::transferred, 50, {14.0, 9.0}},
    {kOrin, "resnet", 8, Method::transferred, 50, {10.84, 6.86}},
    {kOrin, "resnet", 16, Method::transferred, 50, {8.83, 7.39}},
    {kOrin, "resnet", 32, Method::transferred, 50, {11.2, 7.28}},
    {kOrin, "mobnet", 8, Method::transferred, 50, {9.4, 5.7}},
    {kOrin, "mobnet", 32, Method::transferred, 50, {9.4, 5.7}},
}};

// JetPack 5 and 6 are one board, and others write its workloads so.
bool is_called(std::string_view name, std::string_view published) {
  return name == published || (published == kOrin && name == "jetson-agx-orin-jetpack5") ||
         (published == "resnet" && name == "resnet18") ||
         (published == "mobnet" && name == "mobilenet_v3");
}

ComparisonRow row_of(const Profile& profile, Method method, std::size_t modes,
                     std::span<const PredictionError> errors) {
  std::vector<double> time;
  std::vector<double> power;
  for (const PredictionError& error : errors) {
    time.push_back(error.time_percent);
    power.push_back(error.power_percent);
  }
  const std::vector<std::int32_t>& sizes = profile.batch_sizes();
  return {.device = profile.device,
          .workload = profile.workload,
          .batch_size = sizes.size() == 1 ? sizes.front() : 0,
          .method = method,
          .modes = modes,
          .time = quartiles(std::move(time)),
          .power = quartiles(std::move(power))};
}

constexpr std::array<Method, 2> kMethods = {Method::afresh, Method::transferred};

// Appends a row a method.
template <typename Tell>
void compare_draws(const NetworkModule& module, const Predictor& reference, const Profile& target,
                   std::size_t modes, const ComparisonOptions& options, const Tell& tell,
                   std::vector<ComparisonRow>& rows) {
  const std::vector<std::size_t> cells = timed_cells(target);
  std::array<std::vector<PredictionError>, kMethods.size()> errors;
  for (std::size_t repeat = 0; repeat < options.repeats; ++repeat) {
    TrainingOptions training = options.training;
    training.progress = nullptr;
    training.seed += repeat;
    const std::vector<std::size_t> drawn = draw_cells(cells, modes, training.seed);
    for (std::size_t i = 0; i < kMethods.size(); ++i) {
      const Predictor predictor =
          kMethods[i] == Method::afresh
              ? train_predictor(module, target, drawn, training)
              : transfer_predictor(module, reference, target, drawn, training);
      errors[i].push_back(prediction_error(module, predictor, target, cells));
      tell();
    }
  }
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    rows.push_back(row_of(target, kMethods[i], std::min(modes, cells.size()), errors[i]));
  }
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

PublishedError published_error(std::string_view device, std::string_view workload,
                               std::int32_t batch_size, Method method, std::size_t modes) {
  for (const Published& one : kPublished) {
    if (is_called(device, one.device) && is_called(workload, one.workload) &&
        one.batch_size == batch_size && one.method == method &&
        (one.modes == 0 || one.modes == modes)) {
      return one.error;
    }
  }
  return {};
}

void check_draws(const Predictor& reference, std::span<const Profile> targets,
                 std::span<const std::size_t> modes, std::size_t repeats, std::uint64_t seed) {
  for (const Profile& target : targets) {
    const std::vector<std::size_t> cells = timed_cells(target);
    for (const std::size_t count : modes) {
      for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
        const std::vector<std::size_t> drawn = draw_cells(cells, count, seed + repeat);
        untrained_predictor(target, drawn);
        check_transfer(reference, target, drawn);
      }
    }
  }
}

std::vector<ComparisonRow> compare(const NetworkModule& module, const Profile& reference,
                                   std::span<const Profile> targets,
                                   const ComparisonOptions& options) {
  check_draws(untrained_predictor(reference, timed_cells(reference)), targets, options.modes,
              options.repeats, options.training.seed);
  std::size_t done = 0;
  const std::size_t total =
      1 + targets.size() * (1 + options.modes.size() * options.repeats * kMethods.size());
  const auto tell = [&] {
    ++done;
    if (options.progress) options.progress(done, total);
  };
  std::vector<ComparisonRow> rows;
  const auto train_on_all = [&](const Profile& profile) {
    const std::vector<std::size_t> all = timed_cells(profile);
    Predictor trained = train_predictor(module, profile, all, options.training);
    const PredictionError error = prediction_error(module, trained, profile, all);
    rows.push_back(row_of(profile, Method::reference, all.size(), std::span(&error, 1)));
    tell();
    return trained;
  };
  const Predictor trained = train_on_all(reference);
  for (const Profile& target : targets) {
    train_on_all(target);
    for (const std::size_t modes : options.modes) {
      compare_draws(module, trained, target, modes, options, tell, rows);
    }
  }
  return rows;
}

}  // namespace gearshift

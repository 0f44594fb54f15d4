// How well networks predict a measured profile that they saw a few modes of: PowerTrain against the
// same network trained afresh, as in section 4 of doi:10.1016/j.future.2024.07.001.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/powertrain/training.h"

namespace gearshift {

enum class Method : std::uint8_t { reference, afresh, transferred };
std::string_view method_name(Method method);  // "all", "NN", "PowerTrain"

// First quartile, median and third quartile, in percent.
struct Quartiles {
  double first = 0;
  double median = 0;
  double third = 0;
};
// Between neighbours as a linear function of the rank. `values` is not empty.
Quartiles quartiles(std::vector<double> values);

// What the paper reports: a median, in percent.
struct PublishedError {
  std::optional<double> time_percent;
  std::optional<double> power_percent;
};
// For a transfer from ResNet's minibatches of 16 on an AGX Orin; empty where the paper has no
// figure.
PublishedError published_error(std::string_view device, std::string_view workload,
                               std::int32_t batch_size, Method method, std::size_t modes);

struct ComparisonRow {
  std::string device;
  std::string workload;
  std::int32_t batch_size = 0;  // 0: the profile has several
  Method method = Method::afresh;
  std::size_t modes = 0;  // trained and validated with
  Quartiles time;
  Quartiles power;
};

struct ComparisonOptions {
  std::vector<std::size_t> modes = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
  std::size_t repeats = 10;
  // Of every network; its progress is called for those that are trained on a whole profile alone.
  TrainingOptions training;
  std::function<void(std::size_t done, std::size_t total)> progress;  // trainings; may be empty
};

// Whether every one of the trainings that are to come can begin: throws TrainingError for the first
// that cannot, which would else be found after hours of those before it. Of the reference its
// inputs alone are looked at.
void check_draws(const Predictor& reference, std::span<const Profile> targets,
                 std::span<const std::size_t> modes, std::size_t repeats, std::uint64_t seed);

// First the reference, on all of its settings; then each target afresh on all of its own, and with
// each number of modes, drawn anew at each repeat. All are judged on all settings of the profile.
// Throws NetworkError, and before the first training what check_draws throws.
std::vector<ComparisonRow> compare(const NetworkModule& module, const Profile& reference,
                                   std::span<const Profile> targets,
                                   const ComparisonOptions& options);

}  // namespace gearshift

// PowerTrain (doi:10.1016/j.future.2024.07.001): networks trained on a measured profile,
// transferred to another workload or board with a handful of measurements, and asked for every
// setting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "controller/profile.h"
#include "policies/powertrain/network_module.h"
#include "policies/powertrain/predictor.h"

namespace gearshift {

// A profile or a setting that a predictor cannot be used with: what() names it and the way out.
struct TrainingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TrainingProgress {
  std::string_view target;  // "time" or "power"
  std::size_t epoch = 0;
  std::size_t epochs = 0;
  double training_loss = 0;
  double validation_loss = 0;
};

// Section 3.1, table 2; what it leaves open (rows a batch, dropout) is chosen here.
struct TrainingOptions {
  Loss loss = Loss::mse;
  std::size_t epochs = 100;
  std::size_t batch_rows = 32;
  double learning_rate = 1e-3;
  double dropout = 0.1;
  std::uint64_t seed = 1;
  std::function<void(const TrainingProgress&)> progress;  // may be empty
};

// The cells that have the time of a minibatch, by index.
std::vector<std::size_t> timed_cells(const Profile& profile);
// `count` of them (or all), drawn evenly; a function of the arguments.
std::vector<std::size_t> draw_cells(std::span<const std::size_t> cells, std::size_t count,
                                    std::uint64_t seed);

// Section 3.1, on these cells of the profile: nine of ten to train with, the rest to validate.
// Throws what untrained_predictor throws, or NetworkError.
Predictor train_predictor(const NetworkModule& module, const Profile& profile,
                          std::span<const std::size_t> cells, const TrainingOptions& options);
// What that begins with: the inputs are chosen, and there are no networks. Throws TrainingError for
// fewer than 3 cells and where neither a knob nor the batch size varies.
Predictor untrained_predictor(const Profile& profile, std::span<const std::size_t> cells);
// Why the reference's networks cannot be taken over to settings of these knobs and so many batch
// sizes, with the way out; empty where they can.
std::string reference_objection(const Predictor& reference, const KnobSpace& knobs,
                                std::size_t batch_sizes);
// Throws TrainingError for fewer than 3 cells, and where there is such an objection.
void check_transfer(const Predictor& reference, const Profile& profile,
                    std::span<const std::size_t> cells);
// Section 3.2: the reference's networks with a fresh last layer, tuned on these cells:
// options.epochs for that layer alone and as many for all, which the paper leaves open. Inputs keep
// the reference's scale. Throws what check_transfer throws, or NetworkError.
Predictor transfer_predictor(const NetworkModule& module, const Predictor& reference,
                             const Profile& profile, std::span<const std::size_t> cells,
                             const TrainingOptions& options);

struct PredictedSetting {
  PowerMode mode;
  std::int32_t batch_size = 0;
};
struct Prediction {
  double minibatch_ms = 0;  // above 0
  double power_w = 0;       // above 0
};
// One a setting; the modes are of `space`. Throws TrainingError or NetworkError.
std::vector<Prediction> predict(const NetworkModule& module, const Predictor& predictor,
                                const KnobSpace& space, std::span<const PredictedSetting> settings);

// What is predicted of these settings, as a profile of this device that has the workload and kind
// of the predictor. Throws TrainingError or NetworkError.
Profile predicted_profile(const NetworkModule& module, const Predictor& predictor,
                          std::string_view device, const KnobSpace& space,
                          std::span<const PredictedSetting> settings);

// Mean absolute errors as a percentage of what was measured, over these cells.
struct PredictionError {
  double time_percent = 0;
  double power_percent = 0;
};
PredictionError prediction_error(const NetworkModule& module, const Predictor& predictor,
                                 const Profile& profile, std::span<const std::size_t> cells);

}  // namespace gearshift

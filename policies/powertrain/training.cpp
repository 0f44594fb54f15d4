#include "policies/powertrain/training.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>

namespace gearshift {
namespace {

// A network may predict less than nothing; no setting takes less than this part of the mean.
constexpr double kLeastPart = 0.01;

// Of fewer than this a transfer holds none back, and all rows both train and validate: one or two
// tell nothing of when enough is learnt.
constexpr std::size_t kFewestValidationRows = 3;

std::string named(const Profile& profile) { return profile.device + " " + profile.workload; }

std::mt19937_64 seeded(std::uint64_t seed, std::string_view name) {
  std::vector<std::uint32_t> words = {static_cast<std::uint32_t>(seed),
                                      static_cast<std::uint32_t>(seed >> 32)};
  for (const char c : name) words.push_back(static_cast<unsigned char>(c));
  std::seed_seq sequence(words.begin(), words.end());
  return std::mt19937_64(sequence);
}

struct Scale {
  double mean = 0;
  double deviation = 1;
};

Scale scale_of(std::span<const double> values) {
  Scale scale;
  const auto count = static_cast<double>(values.size());
  scale.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - scale.mean) * (value - scale.mean);
  scale.deviation = std::sqrt(squares / count);
  return scale;
}

double input_value(const KnobSpace& space, std::optional<std::size_t> knob,
                   const PredictedSetting& setting) {
  if (!knob) return setting.batch_size;
  return static_cast<double>(setting.mode.values[*knob]) / unit_scale(space.knobs[*knob].unit);
}

std::vector<PredictedSetting> settings_of(const Profile& profile,
                                          std::span<const std::size_t> cells) {
  std::vector<PredictedSetting> settings;
  for (const std::size_t cell : cells) {
    settings.push_back({profile.cells()[cell].mode, profile.cells()[cell].batch_size});
  }
  return settings;
}

// What varies among these settings, with its scale.
std::vector<PredictorInput> choose_inputs(const KnobSpace& space,
                                          std::span<const PredictedSetting> settings) {
  std::vector<PredictorInput> inputs;
  const auto consider = [&](std::string_view name, std::optional<std::size_t> knob) {
    std::vector<double> values;
    for (const PredictedSetting& setting : settings) {
      values.push_back(input_value(space, knob, setting));
    }
    const Scale scale = scale_of(values);
    if (scale.deviation > 0) inputs.push_back({std::string(name), scale.mean, scale.deviation});
  };
  for (std::size_t i = 0; i < space.size(); ++i) consider(space.knobs[i].name, i);
  consider(kBatchSizeInput, std::nullopt);
  return inputs;
}

// rows x columns, standardised.
std::vector<float> input_matrix(const Predictor& predictor, const KnobSpace& space,
                                std::span<const PredictedSetting> settings) {
  std::vector<std::optional<std::size_t>> knobs;
  for (const PredictorInput& input : predictor.inputs) {
    knobs.push_back(input.name == kBatchSizeInput ? std::nullopt : space.find(input.name));
    if (!knobs.back() && input.name != kBatchSizeInput) {
      throw TrainingError(input.name + ": the model of " + predictor.device + " " +
                          predictor.workload + " needs this knob, and it is not told here");
    }
  }
  std::vector<float> matrix;
  matrix.reserve(settings.size() * knobs.size());
  for (const PredictedSetting& setting : settings) {
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      const PredictorInput& input = predictor.inputs[i];
      const double value = input_value(space, knobs[i], setting);
      matrix.push_back(static_cast<float>((value - input.mean) / input.deviation));
    }
  }
  return matrix;
}

// What a training reports goes on to the caller with its name.
struct Report {
  const TrainingOptions& options;
  std::string_view target;
  std::size_t epochs = 0;

  static int pass_on(void* context, std::size_t epoch, double training_loss,
                     double validation_loss) {
    const auto& report = *static_cast<const Report*>(context);
    report.options.progress({report.target, epoch, report.epochs, training_loss, validation_loss});
    return 0;
  }
};

// Trains `network` in place; where it has weights, from them.
void fit(const NetworkModule& module, std::span<const float> inputs, std::size_t columns,
         std::span<const double> values, std::string_view target, const TrainingOptions& options,
         PredictorNetwork& network) {
  const Scale scale = scale_of(values);
  network.mean = scale.mean;
  network.deviation = scale.deviation > 0 ? scale.deviation : 1;
  std::vector<float> targets(values.begin(), values.end());
  std::vector<float> rows(inputs.begin(), inputs.end());
  const bool transfer = !network.weights.empty();
  std::size_t validation_rows = std::max<std::size_t>(1, targets.size() / 10);
  if (transfer && validation_rows < kFewestValidationRows) {
    validation_rows = targets.size();
    targets.insert(targets.end(), values.begin(), values.end());
    rows.insert(rows.end(), inputs.begin(), inputs.end());
  }
  Report report{options, target, transfer ? 2 * options.epochs : options.epochs};
  GearshiftTraining training{};
  training.inputs = rows.data();
  training.targets = targets.data();
  training.rows = targets.size();
  training.columns = columns;
  training.validation_rows = validation_rows;
  training.target_mean = network.mean;
  training.target_deviation = network.deviation;
  training.loss = options.loss == Loss::mape ? GEARSHIFT_LOSS_MAPE : GEARSHIFT_LOSS_MSE;
  training.epochs = options.epochs;
  training.head_epochs = options.epochs;
  training.batch_rows = options.batch_rows;
  training.learning_rate = options.learning_rate;
  training.dropout = options.dropout;
  training.seed = seeded(options.seed, target)();
  training.transfer = transfer ? 1 : 0;
  training.progress = options.progress ? &Report::pass_on : nullptr;
  training.context = &report;
  const GearshiftTrained trained = module.train(training, network.weights);
  network.epoch = trained.epoch;
  network.training_loss = trained.training_loss;
  network.validation_loss = trained.validation_loss;
}

// Tunes both networks of `predictor`, whose inputs are chosen, on these cells.
void fit_both(const NetworkModule& module, const Profile& profile,
              std::span<const std::size_t> cells, const TrainingOptions& options,
              Predictor& predictor) {
  predictor.device = profile.device;
  predictor.workload = profile.workload;
  predictor.kind = profile.kind;
  predictor.loss = options.loss;
  predictor.seed = options.seed;
  predictor.settings = cells.size();
  predictor.knobs = profile.knobs();
  predictor.batch_sizes = profile.batch_sizes();
  // The last ones validate: which these are is drawn.
  const std::vector<std::size_t> drawn = draw_cells(cells, cells.size(), options.seed);
  const std::vector<float> inputs =
      input_matrix(predictor, profile.knobs(), settings_of(profile, drawn));
  std::vector<double> time_ms;
  std::vector<double> power_w;
  for (const std::size_t cell : drawn) {
    time_ms.push_back(profile.cells()[cell].minibatch_ms);
    power_w.push_back(profile.cells()[cell].power_w);
  }
  const std::size_t columns = predictor.inputs.size();
  fit(module, inputs, columns, time_ms, "time", options, predictor.time);
  fit(module, inputs, columns, power_w, "power", options, predictor.power);
  const PredictionError error = prediction_error(module, predictor, profile, drawn);
  predictor.time.mape_percent = error.time_percent;
  predictor.power.mape_percent = error.power_percent;
}

// All that went into the networks of a reference, lowest first.
std::vector<std::int32_t> batch_sizes_behind(const Predictor& reference) {
  std::vector<std::int32_t> sizes;
  std::set_union(reference.batch_sizes.begin(), reference.batch_sizes.end(),
                 reference.reference_batch_sizes.begin(), reference.reference_batch_sizes.end(),
                 std::back_inserter(sizes));
  return sizes;
}

void check_cells(const Profile& profile, std::span<const std::size_t> cells) {
  constexpr std::size_t kFewest = 3;
  if (cells.size() < kFewest) {
    throw TrainingError(named(profile) + ": " + std::to_string(cells.size()) +
                        " settings with the time of a minibatch; at least " +
                        std::to_string(kFewest) + " are needed, and 50 are advised");
  }
}

std::vector<double> predicted(const NetworkModule& module, const PredictorNetwork& network,
                              std::span<const float> inputs, std::size_t columns) {
  std::vector<double> values;
  for (const float output : module.predict(network.weights, inputs, columns)) {
    values.push_back(std::max(network.mean + network.deviation * static_cast<double>(output),
                              kLeastPart * network.mean));
  }
  return values;
}

}  // namespace

std::vector<std::size_t> timed_cells(const Profile& profile) {
  std::vector<std::size_t> cells;
  for (std::size_t i = 0; i < profile.cells().size(); ++i) {
    if (profile.cells()[i].timed()) cells.push_back(i);
  }
  return cells;
}

std::vector<std::size_t> draw_cells(std::span<const std::size_t> cells, std::size_t count,
                                    std::uint64_t seed) {
  std::vector<std::size_t> drawn(cells.begin(), cells.end());
  std::mt19937_64 engine = seeded(seed, "cells");
  count = std::min(count, drawn.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(drawn[i], drawn[i + engine() % (drawn.size() - i)]);
  }
  drawn.resize(count);
  return drawn;
}

Predictor untrained_predictor(const Profile& profile, std::span<const std::size_t> cells) {
  check_cells(profile, cells);
  Predictor predictor;
  predictor.device = profile.device;
  predictor.workload = profile.workload;
  predictor.inputs = choose_inputs(profile.knobs(), settings_of(profile, cells));
  if (predictor.inputs.empty()) {
    throw TrainingError(named(profile) + ": neither a knob nor the batch size varies");
  }
  return predictor;
}

Predictor train_predictor(const NetworkModule& module, const Profile& profile,
                          std::span<const std::size_t> cells, const TrainingOptions& options) {
  Predictor predictor = untrained_predictor(profile, cells);
  fit_both(module, profile, cells, options, predictor);
  return predictor;
}

std::string reference_objection(const Predictor& reference, const KnobSpace& knobs,
                                std::size_t batch_sizes) {
  const std::string who = "PowerTrain's reference " + reference.workload;
  for (const PredictorInput& input : reference.inputs) {
    if (input.name == kBatchSizeInput || knobs.find(input.name)) continue;
    return who + " needs " + input.name +
           ", which is no knob here; train one on a profile with the knobs that are (gearshift "
           "powertrain train)";
  }
  if (reference.takes_batch_size() || batch_sizes <= 1) return "";
  return who + " knows one batch size, and " + std::to_string(batch_sizes) +
         " are allowed here; train one on several (gearshift powertrain train), or allow one";
}

void check_transfer(const Predictor& reference, const Profile& profile,
                    std::span<const std::size_t> cells) {
  check_cells(profile, cells);
  const std::string objection =
      reference_objection(reference, profile.knobs(), profile.batch_sizes().size());
  if (!objection.empty()) throw TrainingError(named(profile) + ": " + objection);
}

Predictor transfer_predictor(const NetworkModule& module, const Predictor& reference,
                             const Profile& profile, std::span<const std::size_t> cells,
                             const TrainingOptions& options) {
  check_transfer(reference, profile, cells);
  Predictor predictor = reference;
  predictor.reference = reference.device + " " + reference.workload;
  predictor.reference_batch_sizes = batch_sizes_behind(reference);
  fit_both(module, profile, cells, options, predictor);
  return predictor;
}

std::vector<Prediction> predict(const NetworkModule& module, const Predictor& predictor,
                                const KnobSpace& space,
                                std::span<const PredictedSetting> settings) {
  const std::vector<float> inputs = input_matrix(predictor, space, settings);
  const std::size_t columns = predictor.inputs.size();
  const std::vector<double> time_ms = predicted(module, predictor.time, inputs, columns);
  const std::vector<double> power_w = predicted(module, predictor.power, inputs, columns);
  std::vector<Prediction> predictions;
  for (std::size_t i = 0; i < settings.size(); ++i) predictions.push_back({time_ms[i], power_w[i]});
  return predictions;
}

Profile predicted_profile(const NetworkModule& module, const Predictor& predictor,
                          std::string_view device, const KnobSpace& space,
                          std::span<const PredictedSetting> settings) {
  const std::vector<Prediction> predictions = predict(module, predictor, space, settings);
  Profile profile(space);
  profile.device = device;
  profile.workload = predictor.workload;
  profile.kind = predictor.kind;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    ProfileCell cell;
    cell.mode = settings[i].mode;
    cell.batch_size = settings[i].batch_size;
    cell.minibatch_ms = predictions[i].minibatch_ms;
    cell.power_w = predictions[i].power_w;
    profile.add(cell);
  }
  return profile;
}

PredictionError prediction_error(const NetworkModule& module, const Predictor& predictor,
                                 const Profile& profile, std::span<const std::size_t> cells) {
  const std::vector<Prediction> predictions =
      predict(module, predictor, profile.knobs(), settings_of(profile, cells));
  PredictionError error;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const ProfileCell& cell = profile.cells()[cells[i]];
    error.time_percent += std::fabs(predictions[i].minibatch_ms / cell.minibatch_ms - 1);
    error.power_percent += std::fabs(predictions[i].power_w / cell.power_w - 1);
  }
  const double scale = 100 / static_cast<double>(std::max<std::size_t>(1, cells.size()));
  return {error.time_percent * scale, error.power_percent * scale};
}

}  // namespace gearshift

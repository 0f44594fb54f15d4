#include "policies/powertrain/network.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "policies/powertrain/module/dense_network.h"
#include "policies/powertrain/module/elementwise.h"

namespace gearshift {
namespace {

// Adam's moments decay into denormal numbers, which cost ten times as much: they are flushed here,
// and what the caller had is put back.
class FloatingPointMode {
 public:
  FloatingPointMode() {
    std::fegetenv(&before_);
    at::globalContext().setFlushDenormal(true);
  }
  ~FloatingPointMode() { std::fesetenv(&before_); }
  FloatingPointMode(const FloatingPointMode&) = delete;
  FloatingPointMode& operator=(const FloatingPointMode&) = delete;

 private:
  std::fenv_t before_{};
};

// Layers this small are slower on two threads, and sums would depend on their number.
void use_one_thread() {
  at::set_num_threads(1);
  const auto limit =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (limit != nullptr) limit(1);
}

// Equal draws everywhere: engine output only.
void shuffle(std::vector<std::size_t>& order, std::mt19937_64& engine) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[engine() % i]);
}

// So many rows at once that what the layers hand on stays in the processor's cache.
constexpr std::size_t kBlockRows = 512;

void predict_rows(DenseNetwork& network, const float* inputs, std::size_t rows, std::size_t columns,
                  float* outputs) {
  for (std::size_t row = 0; row < rows; row += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, rows - row);
    const float* const predicted = network.forward(inputs + row * columns, count, nullptr);
    std::copy(predicted, predicted + count, outputs + row);
  }
}

// The mean loss of these rows and, where `gradient` is not null, its gradient by their outputs.
double loss_of(const GearshiftTraining& training, const float* outputs, const float* targets,
               std::size_t rows, float* gradient) {
  const auto count = static_cast<double>(rows);
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const double target = targets[i];
    const double off = outputs[i] - (target - training.target_mean) / training.target_deviation;
    double slope = 0;
    if (training.loss == GEARSHIFT_LOSS_MAPE) {
      const double weight = training.target_deviation / target;
      sum += std::fabs(off) * weight;
      slope = off > 0 ? weight : off < 0 ? -weight : 0;
    } else {
      sum += off * off;
      slope = 2 * off;
    }
    if (gradient != nullptr) gradient[i] = static_cast<float>(slope / count);
  }
  return sum / count;
}

// One network in training: its generator, its rows and what a step needs.
class Trainer {
 public:
  explicit Trainer(const GearshiftTraining& training)
      : training_(training),
        engine_(training.seed),
        dropout_(training.dropout, engine_),
        network_(training.columns, std::max(training.batch_rows, kBlockRows)),
        order_(training.rows - training.validation_rows),
        batch_inputs_(training.batch_rows * training.columns),
        batch_targets_(training.batch_rows),
        output_gradient_(training.batch_rows),
        held_back_outputs_(training.validation_rows) {
    network_.draw_weights(engine_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  DenseNetwork& network() { return network_; }

  // From now on the layers from this one on are tuned, and the others stay as they are.
  void tune_from(std::size_t layer) {
    first_layer_ = layer;
    adam_ = Adam(network_.weights().size() - network_.offset(layer), training_.learning_rate);
  }

  // One pass over the shuffled training rows; the mean loss of its batches.
  double epoch() {
    shuffle(order_, engine_);
    double sum = 0;
    std::size_t batches = 0;
    for (std::size_t begin = 0; begin < order_.size(); begin += training_.batch_rows) {
      sum += step(begin, std::min(training_.batch_rows, order_.size() - begin));
      ++batches;
    }
    return sum / static_cast<double>(batches);
  }

  double validation_loss() {
    const std::size_t first = order_.size();
    predict_rows(network_, training_.inputs + first * training_.columns, training_.validation_rows,
                 training_.columns, held_back_outputs_.data());
    return loss_of(training_, held_back_outputs_.data(), training_.targets + first,
                   training_.validation_rows, nullptr);
  }

 private:
  double step(std::size_t begin, std::size_t count) {
    const std::size_t columns = training_.columns;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = order_[begin + i];
      const float* const inputs = training_.inputs + row * columns;
      std::copy(inputs, inputs + columns, batch_inputs_.data() + i * columns);
      batch_targets_[i] = training_.targets[row];
    }
    const float* const outputs = network_.forward(batch_inputs_.data(), count, &dropout_);
    const double loss =
        loss_of(training_, outputs, batch_targets_.data(), count, output_gradient_.data());
    network_.backward(output_gradient_.data(), first_layer_);
    adam_.step(network_.weights_from(first_layer_), network_.gradient_from(first_layer_));
    return loss;
  }

  const GearshiftTraining& training_;
  std::mt19937_64 engine_;
  Dropout dropout_;
  DenseNetwork network_;
  Adam adam_{0, 0};
  std::size_t first_layer_ = 0;
  std::vector<std::size_t> order_;
  std::vector<float> batch_inputs_;
  std::vector<float> batch_targets_;
  std::vector<float> output_gradient_;
  std::vector<float> held_back_outputs_;
};

void train(const GearshiftTraining& training, float* weights, std::size_t weight_count,
           GearshiftTrained& trained) {
  if (training.validation_rows == 0 || training.validation_rows >= training.rows ||
      training.batch_rows == 0) {
    throw std::runtime_error("no rows to train on, or none to validate with");
  }
  constexpr std::size_t kLastLayer = GEARSHIFT_NETWORK_LAYERS - 1;
  Trainer trainer(training);
  DenseNetwork& network = trainer.network();
  network.load(weights, weight_count, training.transfer != 0 ? kLastLayer : 0);
  const std::size_t head_epochs = training.transfer != 0 ? training.head_epochs : 0;
  // The first steps of a fresh last layer are wild: they would spoil what the others learnt.
  trainer.tune_from(head_epochs > 0 ? kLastLayer : 0);
  trained = {0, 0, std::numeric_limits<double>::infinity()};
  for (std::size_t epoch = 1; epoch <= head_epochs + training.epochs; ++epoch) {
    if (epoch == head_epochs + 1 && trained.epoch > 0) {
      network.load(weights, weight_count, GEARSHIFT_NETWORK_LAYERS);
      trainer.tune_from(0);
    }
    const double loss = trainer.epoch();
    const double held_back_loss = trainer.validation_loss();
    if (held_back_loss < trained.validation_loss) {
      trained = {epoch, loss, held_back_loss};
      std::copy(network.weights().begin(), network.weights().end(), weights);
    }
    if (training.progress != nullptr &&
        training.progress(training.context, epoch, loss, held_back_loss) != 0) {
      throw std::runtime_error("stopped after epoch " + std::to_string(epoch));
    }
  }
  if (trained.epoch == 0) throw std::runtime_error("the loss was a number in no epoch");
}

void predict(const float* weights, std::size_t weight_count, const float* inputs, std::size_t rows,
             std::size_t columns, float* outputs) {
  DenseNetwork network(columns, std::min(rows, kBlockRows));
  network.load(weights, weight_count, GEARSHIFT_NETWORK_LAYERS);
  predict_rows(network, inputs, rows, columns, outputs);
}

// Exceptions do not cross the C interface.
template <typename Body>
int guarded(char* error, std::size_t error_bytes, Body body) {
  try {
    const FloatingPointMode mode;
    use_one_thread();
    const c10::InferenceMode no_gradients;  // ours are made by hand
    body();
    return 0;
  } catch (const std::exception& thrown) {
    std::snprintf(error, error_bytes, "%s", thrown.what());
  } catch (...) {
    std::snprintf(error, error_bytes, "an unknown exception");
  }
  return 1;
}

}  // namespace
}  // namespace gearshift

uint32_t gearshift_network_version() { return GEARSHIFT_NETWORK_VERSION; }

int gearshift_network_train(const GearshiftTraining* training, float* weights, size_t weight_count,
                            GearshiftTrained* trained, char* error, size_t error_bytes) {
  return gearshift::guarded(error, error_bytes,
                            [&] { gearshift::train(*training, weights, weight_count, *trained); });
}

int gearshift_network_predict(const float* weights, size_t weight_count, const float* inputs,
                              size_t rows, size_t columns, float* outputs, char* error,
                              size_t error_bytes) {
  return gearshift::guarded(error, error_bytes, [&] {
    gearshift::predict(weights, weight_count, inputs, rows, columns, outputs);
  });
}

#include "policies/powertrain/network.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

namespace functional = torch::nn::functional;

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
void shuffle(std::vector<std::int64_t>& order, std::mt19937_64& engine) {
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[engine() % i]);
}

// Leaves out a part of the neurons, and raises the others so that their sum stays. Four neurons
// share a number: libtorch draws one each, which takes a quarter of a training.
class Dropout {
 public:
  Dropout(double part, std::mt19937_64& engine)
      : engine_(engine),
        limit_(static_cast<std::uint32_t>(std::lround(part * kChances))),
        kept_(static_cast<float>(1 / (1 - part))) {}

  at::Tensor apply(const at::Tensor& values) {
    if (limit_ == 0) return values;
    at::Tensor mask = torch::empty_like(values);
    auto* const factors = mask.data_ptr<float>();
    const auto size = static_cast<std::size_t>(mask.numel());
    // The layers' widths are multiples of four.
    for (std::size_t i = 0; i < size; i += kShare) {
      const std::uint64_t bits = engine_();
      for (std::size_t j = 0; j < kShare; ++j) {
        const bool stays = (bits >> (16 * j) & 0xFFFF) >= limit_;
        factors[i + j] = kept_ * static_cast<float>(stays);  // no branch to guess
      }
    }
    return values * mask;
  }

 private:
  static constexpr double kChances = 65'536;
  static constexpr std::size_t kShare = 4;
  std::mt19937_64& engine_;
  std::uint32_t limit_;
  float kept_;
};

enum class Free { all, last_layer };

class Network {
 public:
  explicit Network(std::size_t columns) {
    std::size_t width = columns;
    for (const std::size_t next : gearshift_network_width) {
      layers_.emplace_back(torch::nn::LinearOptions(static_cast<std::int64_t>(width),
                                                    static_cast<std::int64_t>(next)));
      width = next;
    }
  }

  // Leaves neurons out where there is a dropout.
  at::Tensor forward(at::Tensor values, Dropout* dropout) {
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      values = functional::relu(layers_[i]->forward(values));
      if (dropout != nullptr && i < 2) values = dropout->apply(values);
    }
    return layers_.back()->forward(values).squeeze(1);
  }

  std::vector<at::Tensor> parameters() const {
    std::vector<at::Tensor> all;
    for (const torch::nn::Linear& layer : layers_) {
      all.push_back(layer->weight);
      all.push_back(layer->bias);
    }
    return all;
  }

  // Of the last layer alone, with the others kept as they are; or of all.
  std::vector<at::Tensor> free_parameters(Free free) const {
    std::vector<at::Tensor> all = parameters();
    for (std::size_t i = 0; i + 2 < all.size(); ++i) all[i].set_requires_grad(free == Free::all);
    if (free == Free::last_layer) all.erase(all.begin(), all.end() - 2);
    return all;
  }

  void save(float* weights) const {
    for (const at::Tensor& tensor : parameters()) {
      const auto count = static_cast<std::size_t>(tensor.numel());
      std::memcpy(weights, tensor.data_ptr<float>(), count * sizeof(float));
      weights += count;
    }
  }

  // The first `layers` of them; the others stay as they are.
  void load(const float* weights, std::size_t layers) {
    const std::vector<at::Tensor> all = parameters();
    for (std::size_t i = 0; i < 2 * layers; ++i) {
      const auto count = static_cast<std::size_t>(all[i].numel());
      std::memcpy(all[i].data_ptr<float>(), weights, count * sizeof(float));
      weights += count;
    }
  }

  void check_size(std::size_t weight_count) const {
    std::size_t expected = 0;
    for (const at::Tensor& tensor : parameters()) {
      expected += static_cast<std::size_t>(tensor.numel());
    }
    if (weight_count != expected) {
      throw std::runtime_error(std::to_string(weight_count) + " weights, the network has " +
                               std::to_string(expected));
    }
  }

 private:
  std::vector<torch::nn::Linear> layers_;
};

// The caller's floats as a tensor of their own.
at::Tensor tensor_of(const float* values, std::size_t rows, std::size_t columns) {
  return torch::from_blob(const_cast<float*>(values),
                          {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
                          at::kFloat)
      .clone();
}

at::Tensor loss_of(const GearshiftTraining& training, const at::Tensor& outputs,
                   const at::Tensor& targets) {
  if (training.loss == GEARSHIFT_LOSS_MAPE) {
    const at::Tensor predicted = outputs * training.target_deviation + training.target_mean;
    return ((predicted - targets).abs() / targets).mean();
  }
  return functional::mse_loss(outputs,
                              (targets - training.target_mean) / training.target_deviation);
}

// Adam (arXiv:1412.6980) in one pass over each tensor: libtorch's own makes ten small tensors of
// each, which takes longer than the gradients of a network of this size.
class Adam {
 public:
  Adam(std::vector<at::Tensor> parameters, double learning_rate)
      : parameters_(std::move(parameters)), learning_rate_(learning_rate) {
    for (const at::Tensor& tensor : parameters_) {
      moments_.emplace_back(static_cast<std::size_t>(tensor.numel()));
    }
  }

  // Leaves the gradients at 0.
  void step() {
    ++steps_;
    const double first_part = 1 - std::pow(kFirstDecay, steps_);
    const double second_part = 1 - std::pow(kSecondDecay, steps_);
    const auto rate = static_cast<float>(learning_rate_ / first_part);
    const auto scale = static_cast<float>(1 / std::sqrt(second_part));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& gradient = parameters_[i].grad();
      move(parameters_[i].data_ptr<float>(), gradient.data_ptr<float>(), moments_[i], rate, scale);
    }
  }

 private:
  struct Moments {
    explicit Moments(std::size_t size) : first(size), second(size) {}
    std::vector<float> first;
    std::vector<float> second;
  };
  static constexpr float kFirstDecay = 0.9F;
  static constexpr float kSecondDecay = 0.999F;
  static constexpr float kEpsilon = 1e-8F;

  static void move(float* __restrict value, float* __restrict gradient, Moments& moments,
                   float rate, float scale) {
    float* __restrict first = moments.first.data();
    float* __restrict second = moments.second.data();
    const std::size_t size = moments.first.size();
    for (std::size_t i = 0; i < size; ++i) {
      const float slope = gradient[i];
      first[i] = kFirstDecay * first[i] + (1 - kFirstDecay) * slope;
      second[i] = kSecondDecay * second[i] + (1 - kSecondDecay) * slope * slope;
      gradient[i] = 0;
      value[i] -= rate * first[i] / (std::sqrt(second[i]) * scale + kEpsilon);
    }
  }

  std::vector<at::Tensor> parameters_;
  std::vector<Moments> moments_;
  double learning_rate_;
  int steps_ = 0;
};

// One pass over the shuffled training rows; the mean loss of its batches.
double train_epoch(const GearshiftTraining& training, Network& network, Dropout& dropout,
                   Adam& adam, const at::Tensor& inputs, const at::Tensor& targets,
                   const std::vector<std::int64_t>& order) {
  const at::Tensor rows = torch::from_blob(const_cast<std::int64_t*>(order.data()),
                                           {static_cast<std::int64_t>(order.size())}, at::kLong);
  double sum = 0;
  std::size_t batches = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += training.batch_rows) {
    const auto count = std::min(training.batch_rows, order.size() - begin);
    const at::Tensor batch =
        rows.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count));
    const at::Tensor loss =
        loss_of(training, network.forward(inputs.index_select(0, batch), &dropout),
                targets.index_select(0, batch));
    loss.backward();
    adam.step();
    sum += loss.item<double>();
    ++batches;
  }
  return sum / static_cast<double>(batches);
}

double validation_loss(const GearshiftTraining& training, Network& network,
                       const at::Tensor& inputs, const at::Tensor& targets) {
  const torch::NoGradGuard no_gradient;
  return loss_of(training, network.forward(inputs, nullptr), targets).item<double>();
}

void train(const GearshiftTraining& training, float* weights, std::size_t weight_count,
           GearshiftTrained& trained) {
  if (training.validation_rows == 0 || training.validation_rows >= training.rows ||
      training.batch_rows == 0) {
    throw std::runtime_error("no rows to train on, or none to validate with");
  }
  torch::manual_seed(training.seed);
  std::mt19937_64 engine(training.seed);
  Dropout dropout(training.dropout, engine);
  Network network(training.columns);
  network.check_size(weight_count);
  if (training.transfer != 0) network.load(weights, GEARSHIFT_NETWORK_LAYERS - 1);

  const at::Tensor inputs = tensor_of(training.inputs, training.rows, training.columns);
  const at::Tensor targets = tensor_of(training.targets, training.rows, 1).squeeze(1);
  const auto fitted = static_cast<std::int64_t>(training.rows - training.validation_rows);
  const auto held_back = static_cast<std::int64_t>(training.validation_rows);
  const at::Tensor validation_inputs = inputs.narrow(0, fitted, held_back);
  const at::Tensor validation_targets = targets.narrow(0, fitted, held_back);
  std::vector<std::int64_t> order(static_cast<std::size_t>(fitted));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);

  const std::size_t head_epochs = training.transfer != 0 ? training.head_epochs : 0;
  // The first steps of a fresh last layer are wild: they would spoil what the others learnt.
  auto adam = std::make_unique<Adam>(
      network.free_parameters(head_epochs > 0 ? Free::last_layer : Free::all),
      training.learning_rate);
  trained = {0, 0, std::numeric_limits<double>::infinity()};
  for (std::size_t epoch = 1; epoch <= head_epochs + training.epochs; ++epoch) {
    if (epoch == head_epochs + 1 && trained.epoch > 0) {
      network.load(weights, GEARSHIFT_NETWORK_LAYERS);
      adam = std::make_unique<Adam>(network.free_parameters(Free::all), training.learning_rate);
    }
    shuffle(order, engine);
    const double loss = train_epoch(training, network, dropout, *adam, inputs, targets, order);
    const double held_back_loss =
        validation_loss(training, network, validation_inputs, validation_targets);
    if (held_back_loss < trained.validation_loss) {
      trained = {epoch, loss, held_back_loss};
      network.save(weights);
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
  const torch::NoGradGuard no_gradient;
  Network network(columns);
  network.check_size(weight_count);
  network.load(weights, GEARSHIFT_NETWORK_LAYERS);
  // So many that what the layers hand on stays in the processor's cache.
  constexpr std::size_t kBlockRows = 512;
  for (std::size_t row = 0; row < rows; row += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, rows - row);
    const at::Tensor predicted =
        network.forward(tensor_of(inputs + row * columns, count, columns), nullptr);
    std::memcpy(outputs + row, predicted.contiguous().data_ptr<float>(), count * sizeof(float));
  }
}

// Exceptions do not cross the C interface.
template <typename Body>
int guarded(char* error, std::size_t error_bytes, Body body) {
  try {
    const FloatingPointMode mode;
    use_one_thread();
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

uint32_t gearshift_network_version() { return GEARSHIFT_NETWORK_VERSION; }

int gearshift_network_train(const GearshiftTraining* training, float* weights, size_t weight_count,
                            GearshiftTrained* trained, char* error, size_t error_bytes) {
  return guarded(error, error_bytes, [&] { train(*training, weights, weight_count, *trained); });
}

int gearshift_network_predict(const float* weights, size_t weight_count, const float* inputs,
                              size_t rows, size_t columns, float* outputs, char* error,
                              size_t error_bytes) {
  return guarded(error, error_bytes,
                 [&] { predict(weights, weight_count, inputs, rows, columns, outputs); });
}

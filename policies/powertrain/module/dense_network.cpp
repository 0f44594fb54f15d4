#include "policies/powertrain/module/dense_network.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

// Dropout is behind the first two layers.
constexpr std::size_t kDroppedLayers = 2;

at::Tensor view(float* values, std::size_t rows, std::size_t columns) {
  return at::from_blob(values,
                       {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)},
                       at::TensorOptions(at::kFloat));
}

}  // namespace

DenseNetwork::DenseNetwork(std::size_t columns, std::size_t most_rows)
    : inputs_(most_rows * columns) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    layer.inputs = columns;
    layer.outputs = gearshift_network_width[i];
    layer.offset = size;
    layer.values.resize(most_rows * layer.outputs);
    layer.gradient.resize(most_rows * layer.outputs);
    size += (layer.inputs + 1) * layer.outputs;
    columns = layer.outputs;
  }
  weights_.resize(size);
  gradient_.resize(size);
  for (Layer& layer : layers_) {
    layer.weights = view(weights_.data() + layer.offset, layer.outputs, layer.inputs);
    layer.weights_gradient = view(gradient_.data() + layer.offset, layer.outputs, layer.inputs);
  }
}

void DenseNetwork::draw_weights(std::mt19937_64& engine) {
  for (const Layer& layer : layers_) {
    const double bound = 1 / std::sqrt(static_cast<double>(layer.inputs));
    for (std::size_t i = 0; i < (layer.inputs + 1) * layer.outputs; ++i) {
      const double even = static_cast<double>(engine() >> 11) * 0x1p-53;
      weights_[layer.offset + i] = static_cast<float>(bound * (2 * even - 1));
    }
  }
}

void DenseNetwork::load(const float* weights, std::size_t weight_count, std::size_t layers) {
  if (weight_count != weights_.size()) {
    throw std::runtime_error(std::to_string(weight_count) + " weights, the network has " +
                             std::to_string(weights_.size()));
  }
  const std::size_t count = layers < layers_.size() ? offset(layers) : weight_count;
  std::copy(weights, weights + count, weights_.begin());
}

void DenseNetwork::use_rows(std::size_t rows) {
  if (rows == rows_) return;
  rows_ = rows;
  row_inputs_ = view(inputs_.data(), rows, layers_.front().inputs);
  for (Layer& layer : layers_) {
    assert(rows * layer.outputs <= layer.values.size());
    layer.row_values = view(layer.values.data(), rows, layer.outputs);
    layer.row_gradient = view(layer.gradient.data(), rows, layer.outputs);
  }
}

const float* DenseNetwork::forward(const float* inputs, std::size_t rows, Dropout* dropout) {
  use_rows(rows);
  std::copy(inputs, inputs + rows * layers_.front().inputs, inputs_.begin());
  raise_ = dropout == nullptr || dropout->leaves_all() ? 1 : dropout->raise();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    at::mm_out(layer.row_values, inputs_of(i), layer.weights.t());
    const float* const bias = weights_.data() + layer.offset + layer.inputs * layer.outputs;
    float* const values = layer.values.data();
    if (i + 1 == layers_.size()) {
      add_bias(values, bias, rows, layer.outputs);
    } else {
      add_bias_and_rectify(values, bias, rows, layer.outputs);
      if (i < kDroppedLayers && raise_ != 1) dropout->apply(values, rows * layer.outputs);
    }
  }
  return layers_.back().values.data();
}

void DenseNetwork::backward(const float* output_gradient, std::size_t first_layer) {
  std::copy(output_gradient, output_gradient + rows_, layers_.back().gradient.begin());
  for (std::size_t i = layers_.size(); i-- > first_layer;) {
    Layer& layer = layers_[i];
    at::mm_out(layer.weights_gradient, layer.row_gradient.t(), inputs_of(i));
    sum_columns(gradient_.data() + layer.offset + layer.inputs * layer.outputs,
                layer.gradient.data(), rows_, layer.outputs);
    if (i == first_layer) return;
    Layer& before = layers_[i - 1];
    at::mm_out(before.row_gradient, layer.row_gradient, layer.weights);
    rectify_gradient(before.gradient.data(), before.values.data(),
                     i - 1 < kDroppedLayers ? raise_ : 1, rows_ * before.outputs);
  }
}

}  // namespace gearshift

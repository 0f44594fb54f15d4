// PowerTrain's network: passes forward and backward by libtorch's matrix products, in buffers that
// are made once.
//
// libtorch's own layers and its record of gradients spend more time on small tensors that come and
// go than on the products, in a network of this size.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <random>
#include <vector>

#include "policies/powertrain/module/elementwise.h"
#include "policies/powertrain/network.h"

namespace gearshift {

class DenseNetwork {
 public:
  // With weights of 0. `most_rows` go through at once.
  DenseNetwork(std::size_t columns, std::size_t most_rows);

  // In the order of network.h.
  const std::vector<float>& weights() const { return weights_; }
  // As libtorch's layers begin: even between -1/sqrt(inputs) and 1/sqrt(inputs), biases too.
  void draw_weights(std::mt19937_64& engine);
  // The first `layers`; the others stay as they are. `weight_count` is of all, else it throws
  // std::runtime_error.
  void load(const float* weights, std::size_t weight_count, std::size_t layers);

  // One output a row. Neurons are left out where there is a dropout. What it returns holds until
  // the next one.
  const float* forward(const float* inputs, std::size_t rows, Dropout* dropout);
  // From the gradient of the loss by the outputs of the last forward(): the gradient by the weights
  // from `first_layer` on, which the others before it are not part of.
  void backward(const float* output_gradient, std::size_t first_layer);
  // Where the weights of a layer begin.
  std::size_t offset(std::size_t layer) const { return layers_[layer].offset; }
  float* weights_from(std::size_t layer) { return weights_.data() + offset(layer); }
  const float* gradient_from(std::size_t layer) const { return gradient_.data() + offset(layer); }

 private:
  struct Layer {
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    std::size_t offset = 0;  // of its weights; its biases follow them
    at::Tensor weights;      // outputs x inputs, in weights_
    at::Tensor weights_gradient;
    std::vector<float> values;    // most_rows x outputs, behind ReLU and dropout
    std::vector<float> gradient;  // the same, of the loss by them
    at::Tensor row_values;        // the rows in use
    at::Tensor row_gradient;
  };

  void use_rows(std::size_t rows);
  const at::Tensor& inputs_of(std::size_t layer) const {
    return layer == 0 ? row_inputs_ : layers_[layer - 1].row_values;
  }

  std::vector<float> weights_;
  std::vector<float> gradient_;
  std::vector<float> inputs_;
  at::Tensor row_inputs_;
  std::array<Layer, GEARSHIFT_NETWORK_LAYERS> layers_;
  std::size_t rows_ = 0;
  float raise_ = 1;  // by the last forward()'s dropout
};

}  // namespace gearshift

// The loops of a network's steps that are no matrix products: biases, ReLU, dropout and Adam.
//
// Each number comes from the same operations in the same order however wide the processor's vectors
// are, so they are compiled for several widths: the results are equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace gearshift {

// The neurons that one step leaves out, and what the others are raised by, so that their sum stays.
class Dropout {
 public:
  // `part` of the neurons, 0..1; `engine` is drawn from as long as this lives.
  Dropout(double part, std::mt19937_64& engine);
  bool leaves_all() const { return limit_ == 0; }
  float raise() const { return raise_; }
  // Makes `values` 0 where a neuron is left out, and raises the others. Four share one random
  // number: one each takes a quarter of a training.
  void apply(float* values, std::size_t size);

 private:
  std::mt19937_64& engine_;
  std::uint32_t limit_;
  float raise_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint16_t> chances_;
};

// To each of `rows` rows of `width` values.
void add_bias(float* values, const float* bias, std::size_t rows, std::size_t width);
// The same, and what is below 0 becomes 0.
void add_bias_and_rectify(float* values, const float* bias, std::size_t rows, std::size_t width);
// The gradient before ReLU and dropout, from the one behind them: 0 where the output is 0, else
// times what dropout raised the output by.
void rectify_gradient(float* gradient, const float* outputs, float raise, std::size_t size);
// sums[j] is the sum of column j.
void sum_columns(float* sums, const float* values, std::size_t rows, std::size_t width);

// Adam (arXiv:1412.6980) in one pass over a vector of parameters: libtorch's own makes ten small
// tensors of each layer, which takes longer than the gradients of a network of this size.
class Adam {
 public:
  Adam(std::size_t size, double learning_rate);
  // `values` and `gradient` have `size` numbers.
  void step(float* values, const float* gradient);

 private:
  std::vector<float> first_;
  std::vector<float> second_;
  double learning_rate_;
  int steps_ = 0;
};

}  // namespace gearshift

#include "policies/powertrain/module/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// The loader takes the widest that the processor has; sanitizers are not yet set up when it asks.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define GEARSHIFT_VECTORS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GEARSHIFT_VECTORS
#endif

namespace gearshift {
namespace {

constexpr double kChances = 65'536;  // of 16 bits
constexpr std::size_t kShare = 4;    // neurons a random number
constexpr float kFirstDecay = 0.9F;
constexpr float kSecondDecay = 0.999F;
constexpr float kEpsilon = 1e-8F;

GEARSHIFT_VECTORS void leave_out(float* __restrict values, const std::uint16_t* __restrict chances,
                                 std::uint32_t limit, float raise, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = chances[i] < limit ? 0.0F : values[i] * raise;
  }
}

GEARSHIFT_VECTORS void add_row(float* __restrict values, const float* __restrict bias,
                               std::size_t width) {
  for (std::size_t j = 0; j < width; ++j) values[j] += bias[j];
}

GEARSHIFT_VECTORS void add_and_rectify_row(float* __restrict values, const float* __restrict bias,
                                           std::size_t width) {
  for (std::size_t j = 0; j < width; ++j) {
    const float sum = values[j] + bias[j];
    values[j] = sum > 0 ? sum : 0.0F;
  }
}

GEARSHIFT_VECTORS void rectify(float* __restrict gradient, const float* __restrict outputs,
                               float raise, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    gradient[i] = outputs[i] > 0 ? gradient[i] * raise : 0.0F;
  }
}

GEARSHIFT_VECTORS void move(float* __restrict values, const float* __restrict gradient,
                            float* __restrict first, float* __restrict second, std::size_t size,
                            float rate, float scale) {
  for (std::size_t i = 0; i < size; ++i) {
    const float slope = gradient[i];
    first[i] = kFirstDecay * first[i] + (1 - kFirstDecay) * slope;
    second[i] = kSecondDecay * second[i] + (1 - kSecondDecay) * slope * slope;
    values[i] -= rate * first[i] / (std::sqrt(second[i]) * scale + kEpsilon);
  }
}

}  // namespace

Dropout::Dropout(double part, std::mt19937_64& engine)
    : engine_(engine),
      limit_(static_cast<std::uint32_t>(std::lround(part * kChances))),
      raise_(static_cast<float>(1 / (1 - part))) {}

void Dropout::apply(float* values, std::size_t size) {
  bits_.resize((size + kShare - 1) / kShare);
  for (std::uint64_t& word : bits_) word = engine_();
  chances_.resize(bits_.size() * kShare);
  std::memcpy(chances_.data(), bits_.data(), bits_.size() * sizeof(std::uint64_t));
  leave_out(values, chances_.data(), limit_, raise_, size);
}

void add_bias(float* values, const float* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row) add_row(values + row * width, bias, width);
}

void add_bias_and_rectify(float* values, const float* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row) {
    add_and_rectify_row(values + row * width, bias, width);
  }
}

void rectify_gradient(float* gradient, const float* outputs, float raise, std::size_t size) {
  rectify(gradient, outputs, raise, size);
}

void sum_columns(float* sums, const float* values, std::size_t rows, std::size_t width) {
  std::fill(sums, sums + width, 0.0F);
  for (std::size_t row = 0; row < rows; ++row) add_row(sums, values + row * width, width);
}

Adam::Adam(std::size_t size, double learning_rate)
    : first_(size), second_(size), learning_rate_(learning_rate) {}

void Adam::step(float* values, const float* gradient) {
  ++steps_;
  const double first_part = 1 - std::pow(static_cast<double>(kFirstDecay), steps_);
  const double second_part = 1 - std::pow(static_cast<double>(kSecondDecay), steps_);
  move(values, gradient, first_.data(), second_.data(), first_.size(),
       static_cast<float>(learning_rate_ / first_part),
       static_cast<float>(1 / std::sqrt(second_part)));
}

}  // namespace gearshift

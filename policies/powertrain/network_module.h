// Loads the module with libtorch on first use: a daemon that needs no network starts without it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "policies/powertrain/network.h"

namespace gearshift {

// The module is not there, is of another version, or failed: what() says which and the way out.
struct NetworkError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The weights of a network with this many inputs.
std::size_t network_weight_count(std::size_t columns);

class NetworkModule {
 public:
  // Loads it, which takes about 0.4 s the first time in a process. Throws NetworkError.
  NetworkModule();

  // Where training.transfer is not 0 `weights` are those to begin with, else they are resized.
  // Throws NetworkError.
  GearshiftTrained train(const GearshiftTraining& training, std::vector<float>& weights) const;
  // `inputs` are rows x columns, standardised; so is what it returns, one a row. Throws
  // NetworkError.
  std::vector<float> predict(std::span<const float> weights, std::span<const float> inputs,
                             std::size_t columns) const;

 private:
  decltype(&gearshift_network_train) train_ = nullptr;
  decltype(&gearshift_network_predict) predict_ = nullptr;
};

}  // namespace gearshift

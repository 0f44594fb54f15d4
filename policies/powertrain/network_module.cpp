#include "policies/powertrain/network_module.h"

#include <dlfcn.h>

#include <array>
#include <string>

namespace gearshift {
namespace {

// Without a slash it is looked for in the run path of the program, which is the program's folder.
constexpr const char* kModule = "gearshift_powertrain.so";

template <typename Function>
Function* symbol(void* module, const char* name) {
  void* const found = dlsym(module, name);
  if (found == nullptr) {
    throw NetworkError(std::string(kModule) + ": no function " + name +
                       "; build it and the program from the same source");
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace

std::size_t network_weight_count(std::size_t columns) {
  std::size_t count = 0;
  for (const std::size_t width : gearshift_network_width) {
    count += (columns + 1) * width;
    columns = width;
  }
  return count;
}

NetworkModule::NetworkModule() {
  // Never unloaded: libtorch leaves threads and registries behind.
  void* const module = dlopen(kModule, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    const char* const reason = dlerror();
    throw NetworkError(std::string("PowerTrain's module cannot be loaded: ") +
                       (reason == nullptr ? kModule : reason) +
                       "; install libtorch-dev, configure with -DGEARSHIFT_TORCH=ON and build");
  }
  const auto version =
      symbol<decltype(gearshift_network_version)>(module, "gearshift_network_version")();
  if (version != GEARSHIFT_NETWORK_VERSION) {
    throw NetworkError(std::string(kModule) + ": version " + std::to_string(version) +
                       ", this program needs " + std::to_string(GEARSHIFT_NETWORK_VERSION) +
                       "; build both from the same source");
  }
  train_ = symbol<decltype(gearshift_network_train)>(module, "gearshift_network_train");
  predict_ = symbol<decltype(gearshift_network_predict)>(module, "gearshift_network_predict");
}

GearshiftTrained NetworkModule::train(const GearshiftTraining& training,
                                      std::vector<float>& weights) const {
  weights.resize(network_weight_count(training.columns));
  GearshiftTrained trained{};
  std::array<char, 1024> error{};
  if (train_(&training, weights.data(), weights.size(), &trained, error.data(), error.size()) !=
      0) {
    throw NetworkError(std::string("training: ") + error.data());
  }
  return trained;
}

std::vector<float> NetworkModule::predict(std::span<const float> weights,
                                          std::span<const float> inputs,
                                          std::size_t columns) const {
  std::vector<float> outputs(inputs.size() / columns);
  if (outputs.empty()) return outputs;
  std::array<char, 1024> error{};
  if (predict_(weights.data(), weights.size(), inputs.data(), outputs.size(), columns,
               outputs.data(), error.data(), error.size()) != 0) {
    throw NetworkError(std::string("predicting: ") + error.data());
  }
  return outputs;
}

}  // namespace gearshift

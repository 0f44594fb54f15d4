#include "bridge/client/examples/lenet.h"

#include <torch/torch.h>

#include <algorithm>

namespace gearshift::examples {
namespace {

constexpr std::int64_t kClasses = 10;

torch::nn::Sequential make_network() {
  namespace nn = torch::nn;
  return nn::Sequential(nn::Conv2d(1, 6, 5), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(6, 16, 5),
                        nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(400, 120),
                        nn::ReLU(), nn::Linear(120, 84), nn::ReLU(), nn::Linear(84, kClasses));
}

}  // namespace

struct Lenet::Parts {
  torch::nn::Sequential network = make_network();
  torch::optim::Adam optimizer{network->parameters(), torch::optim::AdamOptions(0.001)};
};

Lenet::Lenet(std::uint64_t seed) {
  torch::manual_seed(seed);
  parts_ = std::make_unique<Parts>();
}

Lenet::~Lenet() = default;

double Lenet::train(std::int64_t batch_size) {
  // The class is where the bright column stands: something that can be learnt without a file.
  const torch::Tensor labels = torch::randint(kClasses, {batch_size}, torch::kLong);
  torch::Tensor images = torch::empty({batch_size, 1, kImageSide, kImageSide}).uniform_(0, 0.5);
  for (std::int64_t i = 0; i < batch_size; ++i) {
    images[i][0].select(1, 3 * labels[i].item<std::int64_t>() + 2).fill_(1);
  }
  parts_->network->train();
  parts_->optimizer.zero_grad();
  const torch::Tensor loss =
      torch::nn::functional::cross_entropy(parts_->network->forward(images), labels);
  loss.backward();
  parts_->optimizer.step();
  return loss.item<double>();
}

std::vector<int> Lenet::answer(const std::vector<Image>& images) {
  const torch::InferenceMode inference;
  const auto count = static_cast<std::int64_t>(images.size());
  torch::Tensor batch = torch::empty({count, 1, kImageSide, kImageSide});
  float* pixels = batch.data_ptr<float>();
  for (const Image& image : images) pixels = std::copy(image.begin(), image.end(), pixels);
  parts_->network->eval();
  const torch::Tensor classes = parts_->network->forward(batch).argmax(1);
  std::vector<int> answers;
  for (std::int64_t i = 0; i < count; ++i) answers.push_back(classes[i].item<int>());
  return answers;
}

void Lenet::use_threads(int threads) { torch::set_num_threads(threads); }

}  // namespace gearshift::examples

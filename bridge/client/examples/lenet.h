// A LeNet on small images, behind a face that needs no libtorch: trained, and asked for answers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace gearshift::examples {

// 32x32 pixels from 0 to 1, row by row.
inline constexpr std::int64_t kImageSide = 32;
using Image = std::vector<float>;

class Lenet {
 public:
  // Weights are drawn from the seed.
  explicit Lenet(std::uint64_t seed);
  ~Lenet();

  // One training minibatch of images drawn for it; returns its loss.
  double train(std::int64_t batch_size);
  // The class, from 0 to 9, of each image.
  std::vector<int> answer(const std::vector<Image>& images);

  // Threads that libtorch uses, in all of this process.
  static void use_threads(int threads);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace gearshift::examples

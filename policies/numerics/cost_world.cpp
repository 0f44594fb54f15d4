// One world drawn from CostProcess: parameters by their weights, and a process by random Fourier
// features (Rahimi and Recht 2007) that is then bent to the rows (Matheron's rule, as in Wilson et
// al. 2020, "Efficiently sampling functions from Gaussian process posteriors").
#include <cmath>
#include <numbers>

#include "policies/numerics/cost_process.h"
#include "policies/numerics/random_draw.h"

namespace gearshift {
namespace {

constexpr Eigen::Index kCosines = 128;
// The spectrum of Matern 5/2 is Student's t distribution with so many degrees of freedom.
constexpr double kFreedom = 5;

}  // namespace

CostProcess::World CostProcess::draw_world(std::mt19937_64& random, double temper) const {
  double left = draw_uniform(random);
  std::size_t k = 0;
  while (k + 1 < weights_.size() && left > weights_[k]) left -= weights_[k++];
  const auto dimensions = static_cast<Eigen::Index>(grid_.dimensions());
  World world{samples_[k], Matrix(kCosines, dimensions), Vector(kCosines), Vector(kCosines),
              Vector(kCosines)};
  const double height = temper * std::sqrt(2.0 / static_cast<double>(kCosines));
  for (Eigen::Index i = 0; i < kCosines; ++i) {
    const double wide = std::sqrt(kFreedom / (2 * draw_gamma(kFreedom / 2, random)));
    for (Eigen::Index d = 0; d < dimensions; ++d) {
      world.frequencies(i, d) = wide * draw_normal(random);
    }
    world.phases[i] = 2 * std::numbers::pi * draw_uniform(random);
    world.time_heights[i] = height * time_amplitude_ * draw_normal(random);
    world.power_heights[i] = height * power_amplitude_ * draw_normal(random);
  }
  // What the rows leave of this world pulls it towards them.
  const auto pull = [&](const Series& series, bool time) {
    Vector left_over = series.all_seen();
    world.at.time_pull = Vector::Zero(static_cast<Eigen::Index>(time_.settings.size()));
    world.at.power_pull = Vector::Zero(static_cast<Eigen::Index>(power_.settings.size()));
    for (std::size_t i = 0; i < series.settings.size(); ++i) {
      const Mean mean = this->mean(world, series.settings[i]);
      left_over[static_cast<Eigen::Index>(i)] -=
          (time ? mean.log_time : mean.log_power) +
          temper * std::sqrt(series.noise[i]) * draw_normal(random);
    }
    return Vector(series.precision * left_over);
  };
  const Vector time_pull = pull(time_, true);
  const Vector power_pull = pull(power_, false);
  world.at.time_pull = time_pull;
  world.at.power_pull = power_pull;
  return world;
}

CostProcess::Mean CostProcess::mean(const World& world, std::size_t setting) const {
  Mean mean = pulled(world.at, setting);
  const std::size_t dimensions = grid_.dimensions();
  const Eigen::Map<const Vector> at(&coordinates_[setting * dimensions],
                                    static_cast<Eigen::Index>(dimensions));
  const Vector cosines =
      spread(setting) * (world.frequencies * at + world.phases).array().cos().matrix();
  mean.log_time += world.time_heights.dot(cosines);
  mean.log_power += world.power_heights.dot(cosines);
  return mean;
}

}  // namespace gearshift

// Noise without state: a hash of (seed, stream, index), so that any order of reads gives equal
// bytes.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace gearshift {

// What the noise is for: two streams of one seed have nothing in common.
enum class Stream : std::uint64_t {
  power,
  gpu_load,
  hwmon_order,
  boot_id,
  jitter,
  unapplied = 6,  // a number of its own each: it is part of what is hashed
  unapplied_knob,
  arrivals = 9,
  arrival_stays,
  inference_jitter,
  stalls,
};

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
constexpr std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

constexpr std::uint64_t noise_bits(std::uint64_t seed, Stream stream, std::uint64_t index) {
  return mixed(mixed(mixed(seed) ^ static_cast<std::uint64_t>(stream)) ^ index);
}

// Uniform above 0 and up to 1.
inline double uniform_noise(std::uint64_t seed, Stream stream, std::uint64_t index) {
  return static_cast<double>((noise_bits(seed, stream, index) >> 11) + 1) * 0x1p-53;
}

// Normal with mean 0 and deviation 1 (Box and Muller).
inline double normal_noise(std::uint64_t seed, Stream stream, std::uint64_t index) {
  const double radius = std::sqrt(-2 * std::log(uniform_noise(seed, stream, 2 * index)));
  return radius * std::cos(2 * std::numbers::pi * uniform_noise(seed, stream, 2 * index + 1));
}

// What a minibatch's time deviates by: a lognormal factor with mean 1.
class Jitter {
 public:
  // Its standard deviation; 0 or less: the factor is 1.
  explicit Jitter(double deviation)
      : sigma_(deviation > 0 ? std::sqrt(std::log(1 + deviation * deviation)) : 0) {}
  double factor(double normal) const { return std::exp(sigma_ * normal - 0.5 * sigma_ * sigma_); }
  bool none() const { return sigma_ == 0; }
  // That 1 % of the factors are above.
  double percentile99() const { return factor(2.3263); }

 private:
  double sigma_;
};

}  // namespace gearshift

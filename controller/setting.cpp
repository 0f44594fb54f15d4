#include "controller/setting.h"

namespace gearshift {

std::size_t hash(const Setting& setting) {
  // FNV-1a over the values; used for lookup only, never for an order.
  std::uint64_t state = 14695981039346656037ULL;
  const auto mix = [&state](std::uint64_t value) {
    state ^= value;
    state *= 1099511628211ULL;
  };
  for (std::size_t i = 0; i < setting.mode.count; ++i) {
    mix(static_cast<std::uint64_t>(setting.mode.values[i]));
  }
  for (const std::int32_t batch_size : setting.batch_size) {
    mix(static_cast<std::uint64_t>(batch_size));
  }
  mix(static_cast<std::uint64_t>(setting.run));
  return static_cast<std::size_t>(state);
}

}  // namespace gearshift

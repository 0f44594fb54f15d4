#include "actuators/limit_pair.h"

namespace gearshift {

std::optional<LimitPair::Limits> LimitPair::read() {
  const std::optional<std::int64_t> minimum = minimum_.file.try_read_integer();
  last_error_ = minimum_.file.last_error();
  if (!minimum) return std::nullopt;
  const std::optional<std::int64_t> maximum = maximum_.file.try_read_integer();
  last_error_ = maximum_.file.last_error();
  if (!maximum) return std::nullopt;
  return Limits{*minimum, *maximum};
}

void LimitPair::save(KnobJournal& journal) {
  static_cast<void>(maximum_.file.read_integer());  // text that cannot be put back is not saved
  const std::string_view maximum = maximum_.file.read();
  const std::string_view minimum = minimum_.file.read();  // before one alone is saved
  journal.save(SavedRole::limit_max, maximum_.path, maximum);
  journal.save(SavedRole::limit_min, minimum_.path, minimum);
}

void LimitPair::pin(std::int64_t value) {
  const std::string text = std::to_string(value);
  const bool raises = value > maximum_.file.read_integer();
  (raises ? maximum_ : minimum_).file.write(text);
  (raises ? minimum_ : maximum_).file.write(text);
}

bool LimitPair::pinned(std::int64_t value) {
  constexpr int kPinReadBacks = 200;
  for (int i = 0; i < kPinReadBacks; ++i) {
    const std::optional<Limits> limits = read();
    if (!limits) return false;
    if (limits->minimum == value && limits->maximum == value) return true;
  }
  return false;
}

std::int64_t held(const LimitPair::Limits& limits, std::optional<std::int64_t> wanted) {
  return limits.maximum == wanted ? limits.minimum : limits.maximum;
}

}  // namespace gearshift

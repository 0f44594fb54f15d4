// Which settings were cut for power that something else may have drawn: so that this is believed of
// each of them once, and not for ever.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "controller/clock.h"
#include "controller/setting.h"

namespace gearshift {

// A setting that is tried again may be cut again for the same reason, and if two of them take
// turns, remembering the last one alone would let them do so without end.
class CutExcuses {
 public:
  static constexpr Duration kRest = std::chrono::minutes(10);
  static constexpr std::size_t kMost = 16;

  // True, and noted, where the setting has no excuse of the last kRest, and fewer than kMost have.
  bool excuse(const Setting& setting, Time now) {
    if (excused(setting, now)) return false;
    const auto free = std::find_if(given_.begin(), given_.end(),
                                   [now](const Given& one) { return !one.holds(now); });
    if (free == given_.end()) return false;
    *free = {setting, now};
    return true;
  }
  bool excused(const Setting& setting, Time now) const {
    return std::any_of(given_.begin(), given_.end(),
                       [&](const Given& one) { return one.holds(now) && one.setting == setting; });
  }

 private:
  struct Given {
    Setting setting;
    std::optional<Time> at;

    bool holds(Time now) const { return at && now - *at < kRest; }
  };
  std::array<Given, kMost> given_{};
};

}  // namespace gearshift

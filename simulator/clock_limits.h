// Requested limits of a clock and what comes of them: the rules of Linux 5.x for cpufreq and
// devfreq.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gearshift {

// The highest value of the table that is not above `value`; its lowest where all are.
inline std::int64_t at_most(const std::vector<std::int64_t>& table, std::int64_t value) {
  const auto above = std::upper_bound(table.begin(), table.end(), value);
  return above == table.begin() ? table.front() : *(above - 1);
}

// The lowest value of the table that is not below `value`; its highest where all are.
inline std::int64_t at_least(const std::vector<std::int64_t>& table, std::int64_t value) {
  const auto found = std::lower_bound(table.begin(), table.end(), value);
  return found == table.end() ? table.back() : *found;
}

// Requests are kept as they came and never refused: where they contradict, the maximum wins. A
// board that heat slows down has `percent` of its highest clock at most, and shows that.
struct ClockLimits {
  std::int64_t wanted_min = 0;
  std::int64_t wanted_max = INT64_MAX;

  std::int64_t max(const std::vector<std::int64_t>& table, std::int64_t percent) const {
    const std::int64_t left = at_most(table, table.back() * percent / 100);
    return std::clamp(wanted_max, table.front(), left);
  }
  std::int64_t min(const std::vector<std::int64_t>& table, std::int64_t percent) const {
    return std::min(std::clamp(wanted_min, table.front(), table.back()), max(table, percent));
  }
};

inline std::int64_t nearest(const std::vector<std::int64_t>& table, std::int64_t value) {
  const std::int64_t low = at_most(table, value);
  const std::int64_t high = at_least(table, value);
  return value - low < high - value ? low : high;
}

}  // namespace gearshift

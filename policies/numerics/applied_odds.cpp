#include "policies/numerics/applied_odds.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gearshift {
namespace {

// What is believed before any failure: settings that fail by themselves are as rare as if so many
// had come into force. The odds of a knob to be stuck, to those that it is not.
constexpr double kAppliedBefore = 9;
constexpr double kStuck = 0.15;
// A failure costs no time, and a setting that is surely in force may be far too slow.
constexpr double kLeastOdds = 0.13;

using Position = SettingGrid::Position;

// Where a knob may be stuck: it fails with the values from `low` to `high`, by their numbers.
struct Place {
  std::size_t low = 0, high = 0;
  std::uint64_t failures = 0;  // that this explains, one bit each
};

// Of one knob, where `seen` is what was in force.
std::vector<Place> places(std::size_t safe, std::span<const std::uint8_t> seen) {
  std::vector<Place> all;
  for (std::size_t at = 0; at < seen.size(); ++at) {
    if (at == safe || seen[at] != 0) continue;
    Place one{.low = at, .high = at};
    if (at > safe) {
      while (one.high + 1 < seen.size() && seen[one.high + 1] == 0) ++one.high;
    } else {
      while (one.low > 0 && seen[one.low - 1] == 0) --one.low;
    }
    all.push_back(one);
  }
  return all;
}

// That just these knobs are stuck.
struct Case {
  std::array<std::size_t, kMostStuck> knobs{};
  std::size_t count = 0;
  double odds = 0;
  std::array<std::vector<double>, kMostStuck> blocked{};  // odds, by a knob's value
};

struct Weighing {
  std::size_t failures = 0;
  std::array<std::vector<Place>, SettingGrid::kDimensions> places{};
  std::array<double, SettingGrid::kDimensions> odds{};  // of a place, before any failure
  std::array<double, kMostFailures + 1> alone{};        // that so many failed by themselves

  // Adds up the odds of all places of the knobs of a case from the `depth`-th on, where those
  // before explain these failures.
  double weigh(Case& one, std::size_t depth, double before, std::uint64_t explained) const {
    if (depth == one.count) {
      return before * alone[failures - static_cast<std::size_t>(std::popcount(explained))];
    }
    const std::size_t knob = one.knobs[depth];
    double sum = 0;
    for (const Place& place : places[knob]) {
      const double part = weigh(one, depth + 1, before * odds[knob], explained | place.failures);
      for (std::size_t value = place.low; value <= place.high; ++value) {
        one.blocked[depth][value] += part;
      }
      sum += part;
    }
    return sum;
  }
};

// Makes odds add up to 1: those of all cases, and of what one blocks as a share of its own.
void normalise(std::vector<Case>& cases) {
  double total = 0;
  for (Case& one : cases) {
    total += one.odds;
    for (std::vector<double>& values : one.blocked) {
      for (double& value : values) value /= one.odds;
    }
  }
  for (Case& one : cases) one.odds /= total;
}

// Every case, from the one that no knob is stuck.
std::vector<Case> weighed_cases(const SettingGrid& grid, const Weighing& weighing) {
  std::vector<Case> all(1);
  all[0].odds = weighing.alone[weighing.failures];
  for (std::size_t from = 0; from < all.size(); ++from) {
    const std::size_t count = all[from].count;
    if (count == kMostStuck) continue;
    for (std::size_t d = count > 0 ? all[from].knobs[count - 1] + 1 : 0; d < grid.dimensions();
         ++d) {
      if (weighing.places[d].empty()) continue;
      Case one{.knobs = all[from].knobs, .count = count + 1};
      one.knobs[count] = d;
      for (std::size_t i = 0; i <= count; ++i) {
        one.blocked[i].resize(grid.values(one.knobs[i]).size());
      }
      one.odds = weighing.weigh(one, 0, 1, 0);
      all.push_back(std::move(one));
    }
  }
  normalise(all);
  return all;
}

}  // namespace

AppliedOdds::AppliedOdds(const SettingGrid& grid, const PowerMode& safe) : grid_(grid) {
  for (std::size_t d = 0; d < grid.dimensions(); ++d) {
    const std::vector<std::int64_t>& values = grid.values(d);
    seen_[d].resize(values.size());
    if (d >= safe.count) continue;  // of batch sizes, the least
    const auto at = std::lower_bound(values.begin(), values.end() - 1, safe.values[d]);
    safe_[d] = static_cast<std::uint16_t>(at - values.begin());
  }
}

void AppliedOdds::applied(std::size_t setting) {
  const Position at = grid_.position(setting);
  for (std::size_t d = 0; d < grid_.dimensions(); ++d) seen_[d][at[d]] = 1;
}

void AppliedOdds::failed(std::size_t setting) {
  const Position at = grid_.position(setting);
  std::erase(failures_, at);
  if (failures_.size() == kMostFailures) failures_.erase(failures_.begin());
  failures_.push_back(at);
}

void AppliedOdds::exclude(std::span<std::uint8_t> excluded) const {
  if (failures_.empty()) return;
  Weighing weighing{.failures = failures_.size()};
  for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
    weighing.places[d] = places(safe_[d], seen_[d]);
    weighing.odds[d] = kStuck / static_cast<double>(std::max(seen_[d].size(), std::size_t{2}) - 1);
    for (Place& place : weighing.places[d]) {
      for (std::size_t i = 0; i < failures_.size(); ++i) {
        const std::size_t value = failures_[i][d];
        if (value >= place.low && value <= place.high) place.failures |= std::uint64_t{1} << i;
      }
    }
  }
  weighing.alone[0] = 1;
  for (std::size_t i = 1; i <= failures_.size(); ++i) {
    weighing.alone[i] =
        weighing.alone[i - 1] * static_cast<double>(i) / (kAppliedBefore + static_cast<double>(i));
  }
  const std::vector<Case> cases = weighed_cases(grid_, weighing);
  for (std::size_t i = 0; i < grid_.size(); ++i) {
    const Position at = grid_.position(i);
    double sum = 0;
    for (const Case& one : cases) {
      double odds = one.odds;
      for (std::size_t k = 0; k < one.count; ++k) odds *= 1 - one.blocked[k][at[one.knobs[k]]];
      sum += odds;
    }
    if (sum < kLeastOdds) excluded[i] = 1;
  }
}

}  // namespace gearshift

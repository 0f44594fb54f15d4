#include "policies/numerics/recall.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "controller/memory.h"

namespace gearshift {
namespace {

// The newest observation of every setting, newest first, less those that tell nothing now.
std::vector<std::size_t> newest_of_each(std::span<const Observation> observations,
                                        const Goal& goal) {
  std::vector<std::size_t> found;
  std::unordered_set<Setting, SettingHash> seen;
  for (std::size_t i = observations.size(); i-- > 0;) {
    const Observation& one = observations[i];
    if (!one.answers(goal.power_mw.value_or(0), goal.arrivals_per_s)) continue;
    if (seen.insert(one.setting).second) found.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<std::size_t> recall(std::span<const Observation> observations, const Goal& goal,
                                std::size_t most) {
  if (observations.size() <= most) {
    std::vector<std::size_t> all(observations.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  std::vector<std::size_t> chosen = newest_of_each(observations, goal);
  if (chosen.size() > most) {
    const auto newest = chosen.begin() + static_cast<std::ptrdiff_t>(most - most / 4);
    // What is left is in the order of its worth: what keeps the goal first, the least value first.
    std::stable_sort(newest, chosen.end(), [&](std::size_t one, std::size_t other) {
      const bool keeps = observations[one].keeps(goal);
      if (keeps != observations[other].keeps(goal)) return keeps;
      return keeps && observations[one].value(goal) < observations[other].value(goal);
    });
    chosen.resize(most);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace gearshift

#include "evaluation/sub_grid.h"

#include <algorithm>
#include <stdexcept>

namespace gearshift {
namespace {

std::string values_of(const Knob& knob) {
  std::string text;
  for (const std::int64_t value : knob.values) {
    text += (text.empty() ? "" : ", ") + describe_value(knob.unit, value);
  }
  return text;
}

std::size_t find_knob(const Profile& profile, const KeptValues& kept) {
  const std::optional<std::size_t> found = profile.knobs().find(kept.knob);
  if (found) return *found;
  std::string names;
  for (const Knob& knob : profile.knobs().knobs) names += (names.empty() ? "" : ", ") + knob.name;
  throw std::runtime_error(kept.knob + ": the profile of " + profile.workload +
                           " has no such knob; it has " + names);
}

bool contains(const std::vector<std::int64_t>& values, std::int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

Profile sub_grid(const Profile& profile, std::span<const KeptValues> kept) {
  KnobSpace space = profile.knobs();
  for (const KeptValues& one : kept) {
    Knob& knob = space.knobs[find_knob(profile, one)];
    for (const std::int64_t value : one.values) {
      if (contains(knob.values, value)) continue;
      throw std::runtime_error(one.knob + "=" + describe_value(knob.unit, value) +
                               ": the profile of " + profile.workload + " has " + values_of(knob));
    }
    std::erase_if(knob.values, [&](std::int64_t value) { return !contains(one.values, value); });
    if (knob.values.empty()) throw std::runtime_error(one.knob + ": no value is kept");
  }
  Profile part(space);
  part.device = profile.device;
  part.workload = profile.workload;
  part.kind = profile.kind;
  for (const ProfileCell& cell : profile.cells()) {
    if (space.contains(cell.mode)) part.add(cell);
  }
  if (part.cells().empty()) {
    throw std::runtime_error("the profile of " + profile.workload +
                             " has no cell with these values");
  }
  return part;
}

}  // namespace gearshift

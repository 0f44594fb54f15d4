#include "cli/profile_knobs.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace gearshift {

std::string knob_list(const KnobSpace& space) {
  std::string list;
  for (const Knob& knob : space.knobs) {
    if (!list.empty()) list += ", ";
    list += knob.name;
    const std::string_view unit = unit_name(knob.unit);
    if (!unit.empty()) list.append(" in ").append(unit);
  }
  return list.empty() ? "no knob" : list;
}

bool same_knobs(const KnobSpace& one, const KnobSpace& other) {
  return one.size() == other.size() &&
         std::all_of(one.knobs.begin(), one.knobs.end(), [&](const Knob& knob) {
           const auto place = other.find(knob.name);
           return place && other.knobs[*place].unit == knob.unit;
         });
}

Profile in_order_of(const KnobSpace& board, const Profile& profile) {
  if (!same_knobs(board, profile.knobs())) return profile;
  KnobSpace space;
  std::vector<std::size_t> places;
  for (const Knob& knob : board.knobs) {
    places.push_back(*profile.knobs().find(knob.name));
    space.knobs.push_back(profile.knobs().knobs[places.back()]);
  }
  Profile ordered(std::move(space));
  ordered.device = profile.device;
  ordered.workload = profile.workload;
  ordered.kind = profile.kind;
  for (ProfileCell cell : profile.cells()) {
    const PowerMode mode = cell.mode;
    for (std::size_t i = 0; i < places.size(); ++i) cell.mode.values[i] = mode.values[places[i]];
    ordered.add(cell);
  }
  return ordered;
}

}  // namespace gearshift

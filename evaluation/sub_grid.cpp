#include "evaluation/sub_grid.h"

#include <stdexcept>

namespace gearshift {

Profile sub_grid(const Profile& profile, const KnobSpace& kept) {
  Profile part(kept);
  part.device = profile.device;
  part.workload = profile.workload;
  part.kind = profile.kind;
  for (const ProfileCell& cell : profile.cells()) part.add(cell);
  if (part.cells().empty()) {
    throw std::runtime_error("the profile of " + profile.workload + " on " + profile.device +
                             " has no cell with these values of its knobs");
  }
  return part;
}

}  // namespace gearshift

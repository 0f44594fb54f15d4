// What a recorded run measured, as profiles: one row a setting that was measured to its end.
#pragma once

#include <vector>

#include "controller/profile.h"
#include "trace/recording_reader.h"

namespace gearshift {

struct RecordedProfiles {
  // One for each workload and kind, in the order of their first measurement. Their knobs have the
  // values that occur.
  std::vector<Profile> profiles;
  // Measurements that became no row: cut short, or of two workloads that ran at once, whose power
  // belongs to neither alone.
  std::size_t incomplete = 0;
  std::size_t concurrent = 0;
};

// Reads the recording to its end. The newest measurement of a setting counts. Throws
// RecordingError.
RecordedProfiles read_recorded_profiles(RecordingReader& reader);

}  // namespace gearshift

// What a recorded run measured, as profiles: one row a setting that was measured to its end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/profile.h"
#include "trace/recording_reader.h"

namespace gearshift {

struct RecordedProfiles {
  // One for each workload and kind, in the order of their first measurement. Their knobs have the
  // values that occur.
  std::vector<Profile> profiles;
  // Measurements that became no row: cut short; of two workloads that ran at once, managed or not,
  // whose power belongs to neither alone; of a server that reports its requests, whose power is
  // that of its batches and of the pauses between them at the rate of that day; and of settings as
  // they were before a drift.
  std::size_t incomplete = 0;
  std::size_t concurrent = 0;
  std::size_t pausing = 0;
  std::size_t before_drift = 0;
  // Rows whose power is an estimate, wholly or in part.
  std::size_t estimated = 0;
};

// Reads the recording to its end. The newest measurement of a setting counts; what was measured of
// a workload before the newest drift that was found while it was managed does not. Throws
// RecordingError.
RecordedProfiles read_recorded_profiles(RecordingReader& reader);

// Where there is no profile: what became of the measurements, of each reason how many.
std::string why_no_profile(const RecordedProfiles& recorded);

// A line for each kind of measurements that became no row, and one where rows have estimates.
std::vector<std::string> left_out_lines(const RecordedProfiles& recorded);

}  // namespace gearshift

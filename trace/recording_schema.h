// The tables of a recording, version by version. trace/FORMAT.md says what each column means.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gearshift {

// PRAGMA user_version of what is written. A change of any table is a new version; those before are
// still read.
inline constexpr std::int64_t kRecordingVersion = 7;
// PRAGMA application_id, "GSHR": how a recording is told from another program's database.
inline constexpr std::int64_t kRecordingApplication = 0x47534852;

struct Table {
  std::string_view name;
  std::string_view sql;
};
// As a recording of `version` has them, from 1 to kRecordingVersion.
std::vector<Table> recording_tables(std::int64_t version);

}  // namespace gearshift

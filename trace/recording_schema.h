// The tables of a recording, version by version. trace/FORMAT.md says what each column means.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gearshift {

// PRAGMA user_version. A change of any table is a new version.
inline constexpr std::int64_t kRecordingVersion = 1;
// PRAGMA application_id, "GSHR": how a recording is told from another program's database.
inline constexpr std::int64_t kRecordingApplication = 0x47534852;

struct Table {
  std::string_view name;
  std::string_view sql;
};
std::span<const Table> recording_tables();

}  // namespace gearshift

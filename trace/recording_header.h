// The part of a recording that is written before the first tick.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/database.h"
#include "trace/recording.h"

namespace gearshift {

// Fills metadata, texts, knobs, knob_values and limit_sources. Throws DatabaseError.
void write_header(Database& database, const RecordingHeader& header);

// Throws RecordingError where the database is no recording, one of a newer version, or holds what
// no run can have been set up with; DatabaseError where it is damaged. `version` is the format's.
RecordingHeader read_header(Database& database, std::int64_t& version);

// How the recording ended: "complete", why it ended before the run, or nullopt where the process
// was killed or is still running.
std::optional<std::string> read_end(Database& database);

}  // namespace gearshift

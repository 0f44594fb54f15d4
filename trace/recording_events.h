// Rows of a recording's tables of events, each as the event that it was.
#pragma once

#include <cstdint>

#include "controller/event.h"
#include "trace/recording_cursor.h"

namespace gearshift {

// The row at which the cursor stands, which is one of the table's. Throw RecordingError with column
// and value.
Event read_event(const Cursor& row);
Event read_minibatch(const Cursor& row);
Event read_requests(const Cursor& row);
// `version` is the recording's format.
Event read_workload(const Cursor& row, std::int64_t version);

}  // namespace gearshift

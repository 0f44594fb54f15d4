// What becomes of the recording of a run, as an operator is told it.
#pragma once

#include <cstdint>
#include <string>

namespace gearshift {

struct RecordingState {
  std::string file;                // empty: nothing is recorded
  std::int64_t bytes = 0;          // that it takes on the disk
  std::string end;                 // why it ended before the run; empty while it goes on
  std::int64_t ended_unix_ms = 0;  // when, since 1970; 0 while it goes on
};

}  // namespace gearshift

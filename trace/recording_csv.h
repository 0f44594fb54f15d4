// What a recording holds, as CSV for other programs: its minibatches or its readings.
#pragma once

#include <iosfwd>

#include "trace/recording_reader.h"

namespace gearshift {

// Both read the recording to its end and throw RecordingError. Times are seconds since the first
// tick.

// time_s, workload, kind, batch_size, epoch, sequence, minibatch_ms, fetch_stall_ms, compute_ms,
// and one column a knob with the value it was at from the beginning of the minibatch to its end, in
// the unit people read; empty where a knob moved in between, or may have, or cannot be read, and
// before the first one was.
void write_minibatches_csv(RecordingReader& reader, std::ostream& out);

// time_s, quantity, channel, value, unit, state, estimate: W for power and rail_power, C for
// temperature, J, V and A for the battery's; value is empty unless state is ok.
void write_samples_csv(RecordingReader& reader, std::ostream& out);

}  // namespace gearshift

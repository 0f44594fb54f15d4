// A decision as one line that has every value of it: equal lines are equal decisions.
#pragma once

#include <string>
#include <string_view>

#include "controller/policy.h"
#include "trace/recording.h"

namespace gearshift {

std::string exact_text(const KnobSpace& space, const Setting& setting);
std::string exact_text(const KnobSpace& space, const RecordedNote& note);
std::string exact_text(const SentCommand& sent);
// "write gpu_mhz=816", "manage pid 4242 (train)", "restore".
std::string exact_text(const KnobSpace& space, const KnobCall& call);
// "measure cpu_cores=8 ... train_batch=16 run=train", "hold the safe setting".
std::string exact_text(const KnobSpace& space, const Request& request);

// A note as the loop gives it, kept.
RecordedNote keep(const Note& note);

}  // namespace gearshift

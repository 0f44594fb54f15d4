// Puts an NVIDIA GPU back from the knob journal, where its settings have paths of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "actuators/journal_text.h"
#include "actuators/knob_journal.h"
#include "boards/sysroot.h"

namespace gearshift {

// Where the journal keeps a setting of a GPU: no file, but it names one thing of one board as the
// path of a file does. "/nvml/GPU-6a.../power_limit".
std::string gpu_path(std::string_view uuid, std::string_view setting);

// Sets every saved power limit (the text, in mW) and reads it back, and takes away the clock locks:
// whether a clock was locked before cannot be read. Returns the entries that would not go, and
// tells of each one in `report`. Does not throw.
std::vector<SavedEntry> restore_gpus(const Sysroot& root, const std::vector<SavedEntry>& entries,
                                     RestoreReport& report);

}  // namespace gearshift

// Writes the entries of a knob journal back to the board, in an order that no kernel refuses.
#pragma once

#include <vector>

#include "actuators/journal_text.h"
#include "actuators/knob_journal.h"
#include "boards/sysroot.h"

namespace gearshift {

// Brings cores online, then puts limits back (the one that keeps min <= max first, see
// docs/decisions/0003-restore-order.md), then memory, then takes cores offline; control groups
// last. Every file is read back. Returns the entries that would not go, and tells of each one in
// `report`. Does not throw: a knob that fails must not keep the others from going back.
std::vector<SavedEntry> put_back(Sysroot& root, const std::vector<SavedEntry>& entries,
                                 RestoreReport& report);

}  // namespace gearshift

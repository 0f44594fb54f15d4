// Writes the entries of a knob journal back to the board, in an order that no kernel refuses.
#pragma once

#include <vector>

#include "actuators/journal_text.h"
#include "actuators/knob_journal.h"
#include "boards/sysroot.h"

namespace gearshift {

// How long files are tried again that answer EBUSY or EAGAIN: the kernel has them in its hands, for
// a moment as a rule (a core while another one is switched, a clock while the board wakes).
struct RestorePatience {
  int pauses = 0;
  void (*pause)() = nullptr;  // between two tries; returns after 100 ms in programs
};
// A daemon at its end, which has a guardian for the rest: a second.
RestorePatience patience_of_owner();
// Whoever comes last, guardian or `gearshift restore`: five seconds.
RestorePatience patience_of_last();

// Cores that were online come online first, because the limits of a cluster without a core answer
// EBUSY; where limits were saved of a cluster that was offline, all cores come online for a moment.
// Then limits, the one of a pair first that keeps minimum <= maximum, because kernel 4.9 refuses
// any other order; then memory, its lock last; then the cores that were offline go; then the
// fan, its switch last; then control groups; then GPUs. Every file is read back. Returns the
// entries that would not go, and tells of each one in `report`, with what the kernel answered.
// Where a file is busy, all of it is done again, as patience allows. Does not throw: a knob that
// fails must not keep the others from going back.
std::vector<SavedEntry> put_back(Sysroot& root, const std::vector<SavedEntry>& entries,
                                 const RestorePatience& patience, RestoreReport& report);

}  // namespace gearshift

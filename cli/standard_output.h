// Standard output, where a command's answer goes: not all of it may get there.
#pragma once

namespace gearshift {

// Writes out what still waits. Throws std::runtime_error with the reason where that, or something
// before it, could not be written: the disk is full, say. A reader who has gone had enough: that is
// no failure.
void finish_standard_output();

// It leads to systemd's journal: JOURNAL_STREAM, which programs that a service starts inherit with
// other descriptors too, names this one's device and inode.
bool leads_to_journal(int descriptor);

}  // namespace gearshift

// A folder of recordings, one for each start of a run: what a service records into, since a file's
// name is free for its first start alone.
#pragma once

#include <cstdint>
#include <string>

namespace gearshift {

// "/var/lib/gearshift/recordings/": with a slash at its end.
bool names_folder(const std::string& record);

// Refuses a folder in which no recording can be made. One that is not there yet is made by
// new_recording_in, where the folder that it is to be in may be written. Writes nothing. With
// `keep`, refuses one that is not this user's own to tidy up: another user's, or one that all may
// write. Throws std::invalid_argument and std::runtime_error that name the way out.
void check_recording_folder(const std::string& folder, std::uint32_t keep);

// The file for a recording that begins `started_unix_ms` after 1970, by that time in UTC:
// "20261129T052917Z.db", or with "-2" and so on behind the time where that is there already. Not
// made; the folder is. Before, the oldest recordings that are named so are removed, with what
// SQLite has beside them, until with the new one no more than `keep` are left; 0 keeps all. What
// another process has open, what is another user's, a link, and what is no recording is never
// removed, whatever its name, and does not count. Throws as check_recording_folder does.
std::string new_recording_in(const std::string& folder, std::uint32_t keep,
                             std::int64_t started_unix_ms);

}  // namespace gearshift

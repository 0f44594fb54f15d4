// Where --record may write, as the commands that record a run take it.
#pragma once

#include <string>

namespace gearshift {

// Throws std::invalid_argument that names the way out where `path`, or a file that SQLite would
// have beside it, is there and may not be replaced: a file without --overwrite, one that another
// process has open, and whatever is no file, since a recording takes the place of what is there.
// Throws std::runtime_error with the reason where no file can be made there.
void check_record_flag(const std::string& path, bool overwrites);

}  // namespace gearshift

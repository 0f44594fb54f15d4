// Where --record may write, as the commands that record a run take it, and where -o may, as those
// take it that read a recording or a log.
#pragma once

#include <string>

namespace gearshift {

// Throws std::invalid_argument that names the way out where `path` is there and may not be
// replaced: a file without --overwrite, and whatever is no file, since a recording takes the place
// of what is there.
void check_record_flag(const std::string& path, bool overwrites);

// Throws std::invalid_argument where `output` is the file `input` that is to be read, by whatever
// name: writing would destroy it. An empty `output` is standard output.
void check_output_flag(const std::string& output, const std::string& input);

}  // namespace gearshift

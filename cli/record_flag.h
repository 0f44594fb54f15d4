// Where --record may write, as the commands that record a run take it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gearshift {

struct RecordFlag {
  std::string path;         // of a file, or with a slash at its end of a folder
  bool overwrites = false;  // --overwrite
  std::uint32_t keep = 0;   // --keep-recordings; 0: all
};

// The files of the recording that may be made there: the first is the path, or where a link at it
// leads; none of a folder's, where recordings get their names as they are made. Throws
// std::invalid_argument that names the way out where one of them is there and may not be replaced:
// a file without --overwrite, one that another process has open, and whatever is no file, since a
// recording takes the place of what is there. Throws std::runtime_error with the reason where no
// file can be made there, or another user's link would choose it.
std::vector<std::string> check_record_flag(const RecordFlag& flag);

}  // namespace gearshift

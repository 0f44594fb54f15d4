#include "cli/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace gearshift {

void finish_standard_output() {
  const bool written = std::fflush(stdout) == 0;
  const int reason = errno;
  if (written && std::ferror(stdout) == 0) return;
  if (!written && reason == EPIPE) return;
  // The reason of what failed before is not known any more.
  throw std::runtime_error("standard output: not all of it could be written: " +
                           std::string(written ? "is the disk full?" : std::strerror(reason)));
}

}  // namespace gearshift

#include "cli/standard_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace gearshift {

namespace {

// Of a pipe or a socket: nobody is left to read it, now or when something was written before.
bool reader_has_gone() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

void finish_standard_output() {
  const bool written = std::fflush(stdout) == 0;
  const int reason = errno;
  if (written && std::ferror(stdout) == 0) return;
  if (reader_has_gone()) return;
  // A closed one was filled with a file that cannot be written (standard_descriptors.h).
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    throw std::runtime_error("standard output is closed");
  }
  // The reason of what failed before is not known any more.
  throw std::runtime_error("standard output: not all of it could be written: " +
                           std::string(written ? "is the disk full?" : std::strerror(reason)));
}

bool leads_to_journal(int descriptor) {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat of {};
  if (stream == nullptr || fstat(descriptor, &of) != 0) return false;
  return std::to_string(of.st_dev) + ":" + std::to_string(of.st_ino) == stream;
}

}  // namespace gearshift

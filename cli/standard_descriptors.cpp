#include "cli/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace gearshift {

void fill_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is taken, and those below this one are in use.
    const int access = descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", access) != descriptor) _exit(EXIT_FAILURE);
  }
}

}  // namespace gearshift

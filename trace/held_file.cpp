#include "trace/held_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gearshift {

HeldFile::HeldFile(const std::filesystem::path& file)
    : descriptor_(open(file.c_str(), O_PATH | O_CLOEXEC)) {}

HeldFile::~HeldFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool HeldFile::removed() const {
  struct stat status {};
  return fstat(descriptor_, &status) != 0 || status.st_nlink == 0;
}

}  // namespace gearshift

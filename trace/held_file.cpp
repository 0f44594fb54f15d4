#include "trace/held_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace gearshift {

HeldFile::HeldFile(const std::filesystem::path& file)
    : descriptor_(open(file.c_str(), O_PATH | O_CLOEXEC)) {
  cut_off();
}

HeldFile::~HeldFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool HeldFile::removed() const {
  struct stat status {};
  return fstat(descriptor_, &status) != 0 || status.st_nlink == 0;
}

bool HeldFile::cut_off() {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return false;
  const auto bytes = static_cast<std::int64_t>(status.st_size);
  most_bytes_ = std::max(most_bytes_, bytes);
  return bytes < most_bytes_;
}

}  // namespace gearshift

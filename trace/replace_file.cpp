#include "trace/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

// Closes a descriptor at the end of its scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool write_synced(const std::filesystem::path& path, std::string_view text) {
  const Descriptor file{open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  return file.value >= 0 && write_all(file.value, text) && fsync(file.value) == 0;
}

// A file system that cannot sync a folder says EINVAL; it keeps its names in its own way.
bool sync_folder_of(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const Descriptor descriptor{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return descriptor.value >= 0 && (fsync(descriptor.value) == 0 || errno == EINVAL);
}

std::runtime_error failure(const std::filesystem::path& path, int error) {
  return std::runtime_error(path.string() + ": cannot be written: " + std::strerror(error) +
                            "; name a file in a folder that is there, writable and not full");
}

}  // namespace

void replace_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::path fresh = path;
  fresh += ".new";
  if (!write_synced(fresh, text) || rename(fresh.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(fresh.c_str());  // a full disk has the room back
    throw failure(path, error);
  }
  if (!sync_folder_of(path)) throw failure(path, errno);
}

}  // namespace gearshift

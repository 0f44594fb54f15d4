#include "trace/replace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gearshift {
namespace {

// Closes a descriptor at the end of its scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

bool synced(const std::filesystem::path& path) {
  const Descriptor file{open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  return file.value >= 0 && fsync(file.value) == 0;
}

// A renamed file would take the place of /dev/stdout itself.
bool is_no_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

std::filesystem::path behind_links(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(path, error);
  return error ? path : file;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// A file system that cannot sync a folder says EINVAL; it keeps its names in its own way.
bool sync_folder_of(const std::filesystem::path& path) {
  const Descriptor descriptor{open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return descriptor.value >= 0 && (fsync(descriptor.value) == 0 || errno == EINVAL);
}

std::runtime_error failure(const std::filesystem::path& path, int error) {
  return std::runtime_error(path.string() + ": cannot be written: " + std::strerror(error) +
                            "; name a file in a folder that is there, writable and not full");
}

}  // namespace

void replace_file(const std::filesystem::path& path,
                  const std::function<void(std::ostream&)>& write) {
  const bool in_place = is_no_file(path);
  const std::filesystem::path file = in_place ? path : behind_links(path);
  std::filesystem::path fresh = file;
  if (!in_place) fresh += ".new";
  const auto give_up = [&] {
    if (!in_place) unlink(fresh.c_str());  // a full disk has the room back
  };
  try {
    errno = 0;
    std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
    if (out) write(out);
    out.close();
    if (!out) throw failure(path, errno);
  } catch (...) {
    give_up();
    throw;
  }
  if (in_place) return;
  if (!synced(fresh) || rename(fresh.c_str(), file.c_str()) != 0) {
    const int error = errno;
    give_up();
    throw failure(path, error);
  }
  if (!sync_folder_of(file)) throw failure(path, errno);
}

void check_replaceable(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw failure(path, EISDIR);
  const std::filesystem::path needed = is_no_file(path) ? path : folder_of(behind_links(path));
  if (access(needed.c_str(), W_OK) != 0) throw failure(path, errno);
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  replace_file(path, [&](std::ostream& out) {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  });
}

}  // namespace gearshift

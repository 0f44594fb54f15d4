#include "simulator/virtual_board/mount_point.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

extern char** environ;

namespace gearshift {
namespace {

// The server of a mount that died leaves a folder that nobody can look into.
bool stale(const std::filesystem::path& folder) {
  struct stat info {};
  return stat(folder.c_str(), &info) != 0 && errno == ENOTCONN;
}

}  // namespace

void unmount(const std::filesystem::path& folder) {
  std::string program = "fusermount3";
  std::string options = "-uq";
  std::string path = folder.string();
  char* arguments[] = {program.data(), options.data(), path.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) return;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

void prepare_mount_point(const std::filesystem::path& folder) {
  if (stale(folder)) {
    unmount(folder);
    if (stale(folder)) {
      throw std::runtime_error(folder.string() +
                               " holds a mount whose process died, and it cannot be unmounted; run "
                               "fusermount3 -uz " +
                               folder.string() + " as the user who mounted it");
    }
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw std::runtime_error("cannot make the folder " + folder.string() + ": " + error.message());
  }
  const bool empty = std::filesystem::is_empty(folder, error);
  if (error || !empty) {
    throw std::runtime_error(folder.string() +
                             (error ? " cannot be read: " + error.message() : " is not empty") +
                             "; give --mount an empty folder, or a name that does not exist");
  }
}

std::string fuse_obstacle() {
  const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return std::string("/dev/fuse: ") + std::strerror(errno);
  close(device);
  return {};
}

}  // namespace gearshift

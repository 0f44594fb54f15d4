// A Unix stream socket that one user of this machine may connect to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "actuators/holder_lock.h"

namespace gearshift {

// Who is at the other end, as the kernel says.
struct SocketPeer {
  pid_t pid = 0;
  std::uint32_t user = 0;
};

// Of a connected socket; nullopt where the kernel does not say.
std::optional<SocketPeer> peer_of(int descriptor);

// The listening end: a file of mode 0600 that belongs to the user, there while the object lives.
// The lock beside it, `<path>.lock`, stays.
class PrivateSocket {
 public:
  // Makes the folder, 0755, where it is missing. Throws BusyError where another process listens at
  // `path`, and std::runtime_error for a path that is too long or no socket, a folder where others
  // may put files, and a user that only root may give a file to.
  PrivateSocket(std::filesystem::path path, std::uint32_t user);
  ~PrivateSocket();
  PrivateSocket(const PrivateSocket&) = delete;
  PrivateSocket& operator=(const PrivateSocket&) = delete;

  int descriptor() const { return descriptor_; }

  struct Connection {
    int descriptor = -1;  // the caller's to close; non-blocking
    SocketPeer peer;
  };
  // The next one that waits; nullopt where none does.
  std::optional<Connection> accept() const;

 private:
  std::filesystem::path path_;
  HolderLock lock_;
  int descriptor_ = -1;
};

// Connects without waiting. Returns a non-blocking descriptor, the caller's to close, or -1 with
// errno; ENAMETOOLONG for a path that no socket can have.
int connect_to(const std::filesystem::path& path);

}  // namespace gearshift

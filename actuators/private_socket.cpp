#include "actuators/private_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "actuators/closed_folder.h"

namespace gearshift {
namespace {

constexpr int kWaiting = 4;  // connections that wait to be accepted

std::runtime_error error_of(const std::filesystem::path& path, const std::string& what) {
  return std::runtime_error("socket " + path.string() + ": " + what);
}

std::optional<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

const sockaddr* plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Whoever may put files there could put another one in the place of the socket while it is given
// to its user.
void require_private_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (make_closed_folder(folder)) ::chmod(folder.c_str(), 0755);  // its user is to pass it
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) {
    throw error_of(path, "folder " + folder.string() + ": " + std::strerror(errno));
  }
  const bool shared = (info.st_mode & 0022) != 0 && (info.st_mode & S_ISVTX) == 0;
  const bool foreign = info.st_uid != 0 && info.st_uid != ::geteuid();
  if (!shared && !foreign) return;
  throw error_of(path, "others may put files in " + folder.string() +
                           "; give a path in a folder of root's, for example "
                           "/run/gearshift-helper.sock");
}

// Nobody listens at the socket of a process that was killed. Its user may be another one, whom this
// process may have no right to connect in the place of: then the lock alone tells.
void remove_left_over(const std::filesystem::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return;
  if (!S_ISSOCK(info.st_mode)) {
    throw error_of(path, "there is a file that is no socket; remove it or give another path");
  }
  const int other = connect_to(path);
  if (other < 0 && (errno == ECONNREFUSED || errno == EACCES)) {
    ::unlink(path.c_str());
    return;
  }
  if (other >= 0) ::close(other);
  throw BusyError("socket " + path.string() +
                  ": another process listens there; stop it or give another path");
}

// One that listens is the only one for the path, which is free then.
HolderLock take_path(const std::filesystem::path& path) {
  if (!address_of(path)) {
    throw error_of(path, "a socket's path has 1 to 107 bytes; give a shorter one");
  }
  require_private_folder(path);
  HolderLock lock(path.string() + ".lock", LockPurpose::writing,
                  "listens at the socket " + path.string());
  remove_left_over(path);
  return lock;
}

// Makes files of mode 0600 while it lives; the process has one thread.
class OwnerOnly {
 public:
  OwnerOnly() : before_(::umask(0177)) {}
  ~OwnerOnly() { ::umask(before_); }

 private:
  const mode_t before_;
};

}  // namespace

std::optional<SocketPeer> peer_of(int descriptor) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return std::nullopt;
  }
  return SocketPeer{credentials.pid, credentials.uid};
}

PrivateSocket::PrivateSocket(std::filesystem::path path, std::uint32_t user)
    : path_(std::move(path)),
      lock_(take_path(path_)),
      descriptor_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const std::optional<sockaddr_un> address = address_of(path_);
  int result = -1;
  if (descriptor_ >= 0) {
    const OwnerOnly mode;
    result = ::bind(descriptor_, plain(*address), sizeof *address);
  }
  if (result == 0 && user != ::geteuid()) {
    result = ::lchown(path_.c_str(), user, static_cast<gid_t>(-1));
  }
  if (result == 0) result = ::listen(descriptor_, kWaiting);
  if (result == 0) return;
  const std::string why = std::strerror(errno);
  if (descriptor_ >= 0) ::close(descriptor_);
  throw error_of(path_, "cannot listen for user " + std::to_string(user) + ": " + why +
                            "; run as root, or for the user itself");
}

PrivateSocket::~PrivateSocket() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

std::optional<PrivateSocket::Connection> PrivateSocket::accept() const {
  Connection connection;
  connection.descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection.descriptor < 0) return std::nullopt;
  const std::optional<SocketPeer> peer = peer_of(connection.descriptor);
  if (!peer) {
    ::close(connection.descriptor);
    return std::nullopt;
  }
  connection.peer = *peer;
  return connection;
}

int connect_to(const std::filesystem::path& path) {
  const std::optional<sockaddr_un> address = address_of(path);
  if (!address) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  if (::connect(descriptor, plain(*address), sizeof *address) == 0) return descriptor;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return -1;
}

}  // namespace gearshift

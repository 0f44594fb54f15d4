#include "bridge/router.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "bridge/endpoints.h"
#include "bridge/protocol.h"
#include "bridge/socket_file.h"

namespace gearshift {
namespace {

// Messages that wait for a slow reader, each way and connection: a client that does not read for a
// minute loses its connection, not our memory. One that sends more waits in its own.
constexpr int kQueuedMessages = 128;
constexpr int kByeLingerMs = 100;
// Frames of a message that has too many: passing over a million takes as long as a power window.
constexpr std::size_t kMostPassedOver = 1024;
// Who connects and does not show a key in this time is put out.
constexpr int kHandshakeMs = 5000;
// What tidies up temporary folders removes a socket's file too.
constexpr Duration kLookEvery = std::chrono::minutes(1);

[[noreturn]] void fail(const std::string& endpoint, const std::string& why) {
  throw std::runtime_error("endpoint " + endpoint + ": " + why);
}

std::string errno_text(int code) { return std::strerror(code); }

enum class SocketFile { none, answered, stale };

// Whether a program listens on the socket file. libzmq would remove the file of a living daemon and
// bind over it.
SocketFile probe(const std::string& endpoint, const std::filesystem::path& path) {
  const std::string& text = path.native();
  constexpr std::size_t kLongest = sizeof(sockaddr_un{}.sun_path) - 1;
  if (text.size() > kLongest) {
    fail(endpoint, "the path has " + std::to_string(text.size()) +
                       " bytes; a socket's has at most " + std::to_string(kLongest));
  }
  struct stat status {};
  if (::lstat(text.c_str(), &status) != 0) return SocketFile::none;
  if (!S_ISSOCK(status.st_mode)) {
    fail(endpoint, "the file there is no socket: remove it, or give another endpoint");
  }
  const int code = connect_code(path);
  if (code == ECONNREFUSED) return SocketFile::stale;
  if (code == ENOENT) return SocketFile::none;
  if (code == 0 || code == EAGAIN) return SocketFile::answered;  // EAGAIN: its queue is full
  fail(endpoint, "cannot tell whether a daemon listens there: " + errno_text(code));
}

// A folder of our own, which others can only pass through, and only where the socket is theirs.
void make_folder(const std::string& endpoint, const std::filesystem::path& folder,
                 std::uint32_t owner) {
  if (folder.empty()) return;
  const mode_t mode = owner == ::geteuid() ? 0700 : 0711;
  const int code = ::mkdir(folder.c_str(), mode) == 0 ? 0 : errno;
  struct stat status {};
  if ((code != 0 && code != EEXIST) || ::lstat(folder.c_str(), &status) != 0) {
    fail(endpoint, "cannot make folder " + folder.string() + ": " + errno_text(code) +
                       "; give an endpoint in a folder that exists");
  }
  if (folder == runtime_folder()) {
    // Its name is known to all, so another user may have made it first.
    if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
      fail(endpoint, folder.string() + " is not a folder of this user: " +
                         way_around(status.st_uid, ::geteuid()));
    }
    const bool passable = (status.st_mode & S_IXOTH) != 0;
    if (mode == 0711 && !passable && ::chmod(folder.c_str(), mode) != 0) {
      fail(endpoint, folder.string() + ": " + errno_text(errno));
    }
  }
  // Where others may write and there is no sticky bit, they could put their socket in our place. A
  // link leads to the folder that counts.
  if (::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
      (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
    fail(endpoint, "every user may write to folder " + folder.string() + ": give another endpoint");
  }
}

// Makes files of mode 0600 while it lives. The umask belongs to the process, so that no other
// thread may make files meanwhile; the daemon binds before it starts its threads.
class PrivateUmask {
 public:
  PrivateUmask() : old_(::umask(0177)) {}
  ~PrivateUmask() { ::umask(old_); }
  PrivateUmask(const PrivateUmask&) = delete;
  PrivateUmask& operator=(const PrivateUmask&) = delete;

 private:
  mode_t old_;
};

void bind_socket(zmq::socket_t& socket, const std::string& endpoint) {
  try {
    socket.bind(endpoint);
  } catch (const zmq::error_t& error) {
    const char* way_out = error.num() == EADDRINUSE
                              ? ": another program listens there; stop it, or give another endpoint"
                              : ": give an endpoint like ipc:///run/gearshift/workloads.ipc or "
                                "tcp://127.0.0.1:5555";
    fail(endpoint, std::string(error.what()) + way_out);
  }
}

}  // namespace

Router::Router(zmq::context_t& context, const std::string& endpoint, std::uint32_t owner,
               const RouterKey& key)
    : socket_(context, zmq::socket_type::router),
      connections_(context, socket_, most_connections()),
      endpoint_(endpoint),
      keyed_(is_tcp(endpoint) && !key.secret_key.empty()) {
  require_bindable(endpoint, keyed_ ? Keys::required : Keys::none);
  socket_.set(zmq::sockopt::router_mandatory, true);  // a gone client is an error, not silence
  socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(wire::kMaxFrameBytes));
  socket_.set(zmq::sockopt::rcvhwm, kQueuedMessages);
  socket_.set(zmq::sockopt::sndhwm, kQueuedMessages);
  socket_.set(zmq::sockopt::linger, kByeLingerMs);
  socket_.set(zmq::sockopt::ipv6, is_ipv6(endpoint));
  if (keyed_) {
    socket_.set(zmq::sockopt::curve_server, true);
    socket_.set(zmq::sockopt::curve_secretkey, key.secret_key);
    socket_.set(zmq::sockopt::zap_domain, key.domain);
    socket_.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
    socket_.set(zmq::sockopt::tcp_keepalive, 1);  // a machine that vanished holds no connection
  }
  const std::filesystem::path path = ipc_path(endpoint);
  if (path.empty()) {
    bind_socket(socket_, endpoint);
    return;
  }
  make_folder(endpoint, path.parent_path(), owner);
  const SocketFile file = probe(endpoint, path);
  if (file == SocketFile::answered) {
    fail(endpoint,
         "another daemon listens there: stop it (gearshift stop), or give another endpoint");
  }
  if (file == SocketFile::stale && ::unlink(path.c_str()) != 0) {
    fail(endpoint, "cannot remove the file that a dead daemon left: " + errno_text(errno));
  }
  const PrivateUmask umask;
  bind_socket(socket_, endpoint);
  path_ = path;
  file_ = id_of(path);
  if (owner != ::geteuid() && ::lchown(path.c_str(), owner, static_cast<gid_t>(-1)) != 0) {
    fail(endpoint, "cannot give it to user " + std::to_string(owner) + ": " + errno_text(errno));
  }
}

// While the socket still answers, so that no other daemon takes the file for a dead one's. Where
// somebody has removed it, another daemon's may be there by now.
Router::~Router() {
  if (!path_.empty() && id_of(path_) == file_) ::unlink(path_.c_str());
}

// Of a file that is not there, zeros, which no file has.
Router::FileId Router::id_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

std::string Router::take_complaint(Time now) {
  if (path_.empty() || told_ || now < look_again_) return {};
  look_again_ = now + kLookEvery;
  told_ = id_of(path_) != file_;
  if (!told_) return {};
  return "endpoint " + endpoint_ +
         ": its socket file was removed, so that nobody can connect any more; who is connected "
         "stays; end the daemon with SIGTERM and start it again";
}

bool Router::receive(zmq::message_t& identity, zmq::message_t& frame, std::size_t& budget) {
  // The parts of a message arrive together, so these receive at once.
  for (std::size_t passed = 0; budget > 0 && passed < kMostPassedOver;) {
    if (in_rest_) {
      if (!socket_.recv(frame, zmq::recv_flags::dontwait)) return false;
      in_rest_ = frame.more();
      ++passed;
      continue;
    }
    if (!socket_.recv(identity, zmq::recv_flags::dontwait)) return false;
    --budget;
    if (!identity.more() || !socket_.recv(frame, zmq::recv_flags::dontwait)) continue;
    if (!frame.more()) return true;
    in_rest_ = true;
  }
  return false;
}

bool Router::send(std::string_view identity, std::string_view frame) {
  const zmq::const_buffer head(identity.data(), identity.size());
  const zmq::const_buffer body(frame.data(), frame.size());
  const auto flags = zmq::send_flags::dontwait;
  try {
    return socket_.send(head, flags | zmq::send_flags::sndmore) && socket_.send(body, flags);
  } catch (const zmq::error_t&) {
    return false;  // EHOSTUNREACH: the connection is gone
  }
}

}  // namespace gearshift

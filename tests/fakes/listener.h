// A daemon's socket that takes no connection: one waits in its queue, which is full then.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace gearshift::fakes {

// Leaves its file behind, as a daemon does that is killed, and takes the place of one that is
// there.
class Listener {
 public:
  explicit Listener(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ::unlink(path.c_str());
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    if (::bind(socket_, where, sizeof address) != 0 || ::listen(socket_, 0) != 0) {
      throw std::runtime_error("cannot listen on " + path);
    }
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  int socket_;
};

}  // namespace gearshift::fakes

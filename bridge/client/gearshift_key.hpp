// The C++ client's key, for a daemon that takes who has one: the file of `gearshift keys client`.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <zmq.hpp>

namespace gearshift::client::detail {

// The key file cannot be used; says why, and the way out.
struct KeyError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Makes `socket` take part in CURVE at its next connection, where `endpoint` is tcp:// and there is
// a key: the file `given`, else GEARSHIFT_KEY's. Throws KeyError naming the file and
// the way out where it cannot be used, also where other users may read it. Returns the public key
// in use, empty: none.
inline std::string use_key(zmq::socket_t& socket, const std::string& endpoint,
                           const std::string& given) {
  const char* const variable = std::getenv("GEARSHIFT_KEY");
  const std::string path = given.empty() && variable != nullptr ? variable : given;
  if (path.empty() || endpoint.compare(0, 6, "tcp://") != 0) return {};
  const auto fail = [&path](const std::string& why) {
    throw KeyError("key file " + path + ": " + why);
  };
  std::ifstream file(path);
  struct stat status {};
  if (!file || ::stat(path.c_str(), &status) != 0) fail("cannot be read");
  if ((status.st_mode & 077U) != 0) {
    fail("other users can get at it; chmod 600 it, and make a new key where they may have read it");
  }
  std::string public_key;
  std::string secret_key;
  std::string server_key;
  for (std::string line; std::getline(file, line) && line.size() < 256;) {
    const std::string word = line.substr(0, line.find(' '));
    const std::string value = line.substr(std::min(word.size() + 1, line.size()));
    if (word == "public") public_key = value;
    if (word == "secret") secret_key = value;
    if (word == "server") server_key = value;
  }
  try {
    socket.set(zmq::sockopt::curve_serverkey, server_key);
    socket.set(zmq::sockopt::curve_publickey, public_key);
    socket.set(zmq::sockopt::curve_secretkey, secret_key);
  } catch (const zmq::error_t&) {
    fail("has not the keys public, secret and server; give the file of gearshift keys client");
  }
  return public_key;
}

// What became of a socket's handshakes, so that a key that is refused is not taken for silence.
class Handshakes {
 public:
  Handshakes(zmq::context_t& context, zmq::socket_t& socket)
      : watched_(socket), monitor_(context, zmq::socket_type::pair) {
    const std::string address =
        "inproc://handshakes-" + std::to_string(reinterpret_cast<std::uintptr_t>(this));
    constexpr int kFailures = ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                              ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                              ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
    if (::zmq_socket_monitor(socket.handle(), address.c_str(), kFailures) != 0) {
      throw zmq::error_t();
    }
    monitor_.set(zmq::sockopt::rcvhwm, 0);  // libzmq's thread would wait for us at a limit
    monitor_.set(zmq::sockopt::linger, 0);
    monitor_.connect(address);
  }
  // In this order: with nobody to tell, libzmq's thread would wait for ever.
  ~Handshakes() { ::zmq_socket_monitor(watched_.handle(), nullptr, 0); }
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  // True where a handshake failed since the last call.
  bool take_refusal() {
    zmq::message_t part;
    bool failed = false;
    while (monitor_.recv(part, zmq::recv_flags::dontwait)) failed = true;
    return failed;
  }

 private:
  zmq::socket_t& watched_;
  zmq::socket_t monitor_;
};

}  // namespace gearshift::client::detail

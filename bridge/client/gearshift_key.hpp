// The C++ client's key, for a daemon that takes who has one: the file of `gearshift keys client`.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <zmq.hpp>

namespace gearshift::client::detail {

// The key file cannot be used; says why, and the way out.
struct KeyError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Whose key it is, as the daemon's operator knows it, and what may be shown of it.
struct PublicKey {
  std::string client;
  std::string text;
};

// Where a daemon may have keys.
inline bool is_tcp(const std::string& endpoint) { return endpoint.compare(0, 6, "tcp://") == 0; }

// Makes `socket` take part in CURVE at its next connection, where `endpoint` is tcp:// and there is
// a key: the file `given`, else GEARSHIFT_KEY's. Throws KeyError naming the file and
// the way out where it cannot be used, also where other users may read it. Returns the key in use,
// if any.
inline std::optional<PublicKey> use_key(zmq::socket_t& socket, const std::string& endpoint,
                                        const std::string& given) {
  const char* const variable = std::getenv("GEARSHIFT_KEY");
  const std::string path = given.empty() && variable != nullptr ? variable : given;
  if (path.empty() || !is_tcp(endpoint)) return std::nullopt;
  const auto fail = [&path](const std::string& why) {
    throw KeyError("key file " + path + ": " + why);
  };
  std::ifstream file(path);
  struct stat status {};
  if (!file || ::stat(path.c_str(), &status) != 0) fail("cannot be read");
  if ((status.st_mode & 077U) != 0) {
    fail("other users can get at it; chmod 600 it, and make a new key where they may have read it");
  }
  PublicKey key{"NAME", ""};
  std::string secret_key;
  std::string server_key;
  for (std::string line; std::getline(file, line) && line.size() < 256;) {
    const std::string word = line.substr(0, line.find(' '));
    const std::string value = line.substr(std::min(word.size() + 1, line.size()));
    if (word == "name") key.client = value;
    if (word == "public") key.text = value;
    if (word == "secret") secret_key = value;
    if (word == "server") server_key = value;
  }
  try {
    socket.set(zmq::sockopt::curve_serverkey, server_key);
    socket.set(zmq::sockopt::curve_publickey, key.text);
    socket.set(zmq::sockopt::curve_secretkey, secret_key);
  } catch (const zmq::error_t&) {
    fail("has not the keys public, secret and server; give the file of gearshift keys client");
  }
  return key;
}

// What became of a socket's handshakes, so that a key that is refused, missing or too much is not
// taken for silence.
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

  // What says most of those since the last call, the most telling last.
  enum class Failure : std::uint8_t {
    none,
    closed,             // by a daemon that is full, or could not read what its key was to open
    refused,            // the daemon has seen the key
    one_side_has_keys,  // and the other none
  };
  Failure take_failure() {
    Failure found = Failure::none;
    zmq::message_t event;
    zmq::message_t address;
    while (monitor_.recv(event, zmq::recv_flags::dontwait)) {
      found = std::max(found, failure_of(event));
      if (event.more()) static_cast<void>(monitor_.recv(address, zmq::recv_flags::dontwait));
    }
    return found;
  }

 private:
  // `event` has its number, of two bytes, and its code.
  static Failure failure_of(const zmq::message_t& event) {
    std::uint16_t number = 0;
    std::uint32_t code = 0;
    if (event.size() != sizeof number + sizeof code) return Failure::closed;
    std::memcpy(&number, event.data(), sizeof number);
    std::memcpy(&code, static_cast<const char*>(event.data()) + sizeof number, sizeof code);
    if (code == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) return Failure::one_side_has_keys;
    return number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ? Failure::refused : Failure::closed;
  }

  zmq::socket_t& watched_;
  zmq::socket_t monitor_;
};

}  // namespace gearshift::client::detail

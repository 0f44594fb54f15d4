#include "bridge/control_client.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>
#include <zmq.hpp>

#include "bridge/endpoints.h"
#include "bridge/key_files.h"

namespace gearshift {
namespace {

constexpr char kMonitor[] = "inproc://handshakes";
constexpr int kMostTries = 4;  // to be let in, 100 ms from one to the next
constexpr std::chrono::milliseconds kAgainWithin{500};
constexpr int kFailures = ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Why handshakes failed, the most telling last.
enum class Failure : std::uint8_t {
  none,
  closed,             // by a daemon that is full, or could not read what its key was to open
  refused,            // the daemon has seen the key
  one_side_has_keys,  // and the other none
};

// What the monitor of a socket tells; none where it has nothing to tell.
Failure failed_handshake(zmq::socket_t& monitor) {
  zmq::message_t event;  // its number, of two bytes, and its code
  zmq::message_t address;
  if (!monitor.recv(event, zmq::recv_flags::dontwait) ||
      !monitor.recv(address, zmq::recv_flags::dontwait)) {
    return Failure::none;
  }
  std::uint16_t number = 0;
  std::uint32_t code = 0;
  if (event.size() != sizeof number + sizeof code) return Failure::closed;
  std::memcpy(&number, event.data(), sizeof number);
  std::memcpy(&code, static_cast<const char*>(event.data()) + sizeof number, sizeof code);
  if (code == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) return Failure::one_side_has_keys;
  return number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ? Failure::refused : Failure::closed;
}

std::string text_of(Failure failure, const std::string& endpoint,
                    const std::optional<KeyFile>& key) {
  const std::string daemon = "the daemon at " + endpoint;
  if (!key) {
    const std::string wish =
        " wants a key: give the file that gearshift keys client made, with --key or in "
        "GEARSHIFT_KEY";
    if (failure != Failure::closed) return daemon + wish;
    return daemon + " closed the connection: it holds as many as it takes, 128 at most" +
           (is_tcp(endpoint) ? ", or" + wish : std::string());
  }
  if (failure == Failure::one_side_has_keys) {
    return daemon +
           " uses no keys, and lets in nobody who has one: leave out --key and GEARSHIFT_KEY, or "
           "start the daemon with --keys";
  }
  if (failure == Failure::closed) {
    return daemon + " closed the connection before it had seen the key of client " + key->name +
           ": it has another key than the key file's server line (gearshift keys list shows it "
           "there), uses none, or holds as many connections as it takes, 128 at most";
  }
  return daemon + " refused the key of client " + key->name +
         ": its operator lets the client in with " + authorising(key->name, key->pair.public_key);
}

}  // namespace

ControlClient::ControlClient(ControlAddress address, std::chrono::milliseconds timeout)
    : endpoint_(address.endpoint.empty() ? control_endpoint_to_connect()
                                         : std::move(address.endpoint)),
      key_(address.key.empty() ? environment("GEARSHIFT_KEY") : address.key),
      timeout_(timeout) {
  require_endpoint(endpoint_);
  if (!address.key.empty() && !is_tcp(endpoint_)) {
    throw std::invalid_argument("--key " + address.key + ": belongs to a tcp:// endpoint, and " +
                                endpoint_ + " needs none; leave it out");
  }
}

void ControlClient::cap(std::int64_t power_mw) {
  wire::pack(buffer_, wire::CapRequest{power_mw});
  wire::decode_ok(ask());
}

void ControlClient::goal(const GoalChange& change) {
  wire::pack(buffer_, wire::GoalRequest{change});
  wire::decode_ok(ask());
}

wire::StatusAnswer ControlClient::status() {
  wire::pack(buffer_, wire::StatusRequest{});
  return wire::decode_status(ask());
}

wire::ExplanationAnswer ControlClient::explain() {
  wire::ExplanationAnswer answer;
  do {
    const auto have = static_cast<std::uint32_t>(answer.rationale.tried().size());
    wire::pack(buffer_, wire::ExplainRequest{have});
  } while (wire::add_explanation(ask(), answer));
  return answer;
}

void ControlClient::stop() {
  wire::pack(buffer_, wire::StopRequest{});
  wire::decode_ok(ask());
}

std::string ControlClient::ask() {
  zmq::context_t context(1);
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::ipv6, is_ipv6(endpoint_));
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(wire::kMaxFrameBytes));
  std::optional<KeyFile> key;
  if (is_tcp(endpoint_) && !key_.empty()) {
    key = read_client_key(key_);
    socket.set(zmq::sockopt::curve_serverkey, key->server_key);
    socket.set(zmq::sockopt::curve_publickey, key->pair.public_key);
    socket.set(zmq::sockopt::curve_secretkey, key->pair.secret_key);
  }
  zmq::socket_t monitor(context, zmq::socket_type::pair);
  if (::zmq_socket_monitor(socket.handle(), kMonitor, kFailures) == 0) monitor.connect(kMonitor);
  try {
    socket.connect(endpoint_);
  } catch (const zmq::error_t& error) {
    throw std::invalid_argument("endpoint '" + endpoint_ + "': " + error.what() +
                                "; give one like ipc:///run/gearshift/control.ipc");
  }
  const std::string_view request = buffer_.view();
  socket.send(zmq::const_buffer(request.data(), request.size()), zmq::send_flags::none);
  zmq::pollitem_t items[] = {{socket.handle(), 0, ZMQ_POLLIN, 0},
                             {monitor.handle(), 0, ZMQ_POLLIN, 0}};
  zmq::message_t answer;
  Failure failure = Failure::none;
  // Why the daemon closes the connection libzmq may have read or not; it tries again by itself.
  for (int tries = 0; tries < kMostTries && failure <= Failure::closed; ++tries) {
    zmq::poll(items, 2, tries == 0 ? timeout_ : std::min(timeout_, kAgainWithin));
    if (socket.recv(answer, zmq::recv_flags::dontwait)) return answer.to_string();
    failure = std::max(failure, failed_handshake(monitor));
    if (failure == Failure::none) break;
  }
  if (failure != Failure::none) throw std::runtime_error(text_of(failure, endpoint_, key));
  throw UnreachableError("no daemon answers at " + endpoint_ +
                         "; is gearshift run running? Where it has a --control of its own, give "
                         "the same here; a daemon that root started answers root only");
}

}  // namespace gearshift

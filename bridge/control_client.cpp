#include "bridge/control_client.h"

#include <cstdlib>
#include <optional>
#include <utility>
#include <zmq.hpp>

#include "bridge/endpoints.h"
#include "bridge/key_files.h"

namespace gearshift {
namespace {

constexpr char kMonitor[] = "inproc://handshakes";
constexpr int kFailures = ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What the daemon said no to.
std::string refused(const std::string& endpoint, const std::optional<KeyFile>& key) {
  if (!key) {
    return "the daemon at " + endpoint +
           " wants a key: give the file that gearshift keys client made, with --key or in "
           "GEARSHIFT_KEY";
  }
  return "the daemon at " + endpoint + " refused the key of client " + key->name +
         ": where the key file's server line is this daemon's key, its operator lets the client "
         "in with gearshift keys authorise " +
         key->name + " '" + key->pair.public_key + "'";
}

// True where the handshake has failed that the socket's monitor tells of.
bool handshake_failed(zmq::socket_t& monitor) {
  zmq::message_t event;
  zmq::message_t address;
  return monitor.recv(event, zmq::recv_flags::dontwait) &&
         monitor.recv(address, zmq::recv_flags::dontwait);
}

}  // namespace

ControlClient::ControlClient(ControlAddress address, std::chrono::milliseconds timeout)
    : endpoint_(address.endpoint.empty() ? control_endpoint_to_connect()
                                         : std::move(address.endpoint)),
      key_(address.key.empty() ? environment("GEARSHIFT_KEY") : std::move(address.key)),
      timeout_(timeout) {
  require_endpoint(endpoint_);
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
  zmq::poll(items, 2, timeout_);
  zmq::message_t answer;
  if (socket.recv(answer, zmq::recv_flags::dontwait)) return answer.to_string();
  if (handshake_failed(monitor)) throw std::runtime_error(refused(endpoint_, key));
  throw UnreachableError("no daemon answers at " + endpoint_ +
                         "; is gearshift run running? Where it has a --control of its own, give "
                         "the same here; a daemon that root started answers root only");
}

}  // namespace gearshift

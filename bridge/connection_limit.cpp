#include "bridge/connection_limit.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace gearshift {
namespace {

constexpr std::size_t kMost = 128;
// Descriptors of everything else: knobs, sensors, the journal, the recording.
constexpr std::size_t kOthers = 64;
// There are two endpoints, and as many connections again may wait to be shut.
constexpr std::size_t kParts = 4;
constexpr int kMostEvents = 1024;
constexpr std::size_t kEventBytes = 6;  // its number (16 bits) and its value (32)

std::optional<sockaddr_storage> name_of(int descriptor) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0) return {};
  return name;
}

in_port_t port_of(const sockaddr_storage& name) {
  if (name.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(name).sin_port;
  return reinterpret_cast<const sockaddr_in6&>(name).sin6_port;
}

}  // namespace

std::size_t most_connections() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMost;
  const std::size_t rest = limit.rlim_cur > kOthers ? limit.rlim_cur - kOthers : 0;
  return std::clamp<std::size_t>(rest / kParts, 1, kMost);
}

ConnectionLimit::ConnectionLimit(zmq::context_t& context, zmq::socket_t& socket, std::size_t most)
    : watched_(socket), monitor_(context, zmq::socket_type::pair), most_(most) {
  const std::string address =
      "inproc://connections-" + std::to_string(reinterpret_cast<std::uintptr_t>(this));
  constexpr int kEvents = ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED;
  if (::zmq_socket_monitor(socket.handle(), address.c_str(), kEvents) != 0) throw zmq::error_t();
  monitor_.set(zmq::sockopt::rcvhwm, 0);  // libzmq's thread would wait for us at a limit
  monitor_.set(zmq::sockopt::linger, 0);
  monitor_.connect(address);
}

// In this order: with nobody to tell, libzmq's thread would wait for ever.
ConnectionLimit::~ConnectionLimit() { ::zmq_socket_monitor(watched_.handle(), nullptr, 0); }

void ConnectionLimit::enforce() {
  zmq::message_t event;
  zmq::message_t address;
  for (int count = 0; count < kMostEvents; ++count) {
    if (!monitor_.recv(event, zmq::recv_flags::dontwait)) return;
    if (event.more() && !monitor_.recv(address, zmq::recv_flags::dontwait)) return;
    if (event.size() != kEventBytes) continue;
    std::uint16_t type = 0;
    std::int32_t descriptor = 0;
    std::memcpy(&type, event.data(), sizeof type);
    std::memcpy(&descriptor, static_cast<const char*>(event.data()) + sizeof type,
                sizeof descriptor);
    if (type == ZMQ_EVENT_LISTENING) bound_ = name_of(descriptor).value_or(sockaddr_storage{});
    if (type == ZMQ_EVENT_ACCEPTED) accepted(descriptor);
    if (type == ZMQ_EVENT_DISCONNECTED) std::erase(open_, descriptor);
  }
}

void ConnectionLimit::accepted(int descriptor) {
  // A descriptor comes again only after its connection has gone.
  if (std::find(open_.begin(), open_.end(), descriptor) != open_.end()) return;
  // Should libzmq not have told that one went, newcomers would be shut for good.
  if (open_.size() >= most_) std::erase_if(open_, [this](int one) { return !ours(one); });
  if (open_.size() < most_) {
    open_.push_back(descriptor);
  } else if (ours(descriptor)) {
    ::shutdown(descriptor, SHUT_RDWR);  // libzmq closes it then
  }
}

// The connection may have gone by itself since, and its number may be another's now.
bool ConnectionLimit::ours(int descriptor) const {
  const std::optional<sockaddr_storage> name = name_of(descriptor);
  if (!name || name->ss_family != bound_.ss_family) return false;
  if (name->ss_family != AF_UNIX) return port_of(*name) == port_of(bound_);
  const auto& path = reinterpret_cast<const sockaddr_un&>(*name).sun_path;
  return std::memcmp(path, reinterpret_cast<const sockaddr_un&>(bound_).sun_path, sizeof path) == 0;
}

}  // namespace gearshift

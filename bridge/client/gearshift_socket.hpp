// The C++ client's socket: connected to where the daemon listens, and anew where that moved or the
// connection broke.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <zmq.hpp>

#include "bridge/client/gearshift_key.hpp"

namespace gearshift::client::detail {

// Not for several threads at once. No call blocks but wait().
class DaemonSocket {
 public:
  using Time = std::chrono::nanoseconds;  // since any moment

  DaemonSocket() : context_(1), socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::immediate, true);
    socket_.set(zmq::sockopt::linger, 100);  // milliseconds for the bye, where there is a daemon
    socket_.set(zmq::sockopt::sndhwm, 256);
    socket_.set(zmq::sockopt::rcvhwm, 256);
    socket_.set(zmq::sockopt::reconnect_ivl, 100);
  }

  // Where it is not connected there already. `key` as use_key() takes it. Throws
  // std::invalid_argument naming the endpoint or the key file.
  void connect(const std::string& endpoint, const std::string& key, Time now) {
    if (endpoint == endpoint_) return;
    disconnect();
    key_ = use_key(socket_, endpoint, key);
    if (!key_.empty() && !handshakes_) handshakes_.emplace(context_, socket_);
    try {
      socket_.connect(endpoint);
    } catch (const zmq::error_t& error) {
      throw std::invalid_argument("endpoint " + endpoint + ": " + error.what());
    }
    endpoint_ = endpoint;
    connected_ = now;
  }

  // After a send that failed: the next connect() is a new one, unless this one is young. libzmq
  // gives up for good where a handshake fails. Returns what people should know, or nothing.
  std::string disconnect_if_stuck(Time now) {
    if (endpoint_.empty() || now - connected_ <= kConnectAgain) return {};
    const std::string endpoint = endpoint_;
    disconnect();
    if (!handshakes_ || !handshakes_->take_refusal()) return {};
    if (endpoint == refused_at_) return {};  // it was told
    refused_at_ = endpoint;
    return "the daemon at " + endpoint + " refuses the key of this client: gearshift keys " +
           "authorise NAME '" + key_ + "'";
  }

  // False where no daemon takes it now.
  bool send(const void* data, std::size_t size) {
    try {
      return socket_.send(zmq::const_buffer(data, size), zmq::send_flags::dontwait).has_value();
    } catch (const zmq::error_t&) {
      return false;
    }
  }
  // False where no message is here.
  bool receive(zmq::message_t& frame) {
    try {
      return socket_.recv(frame, zmq::recv_flags::dontwait).has_value();
    } catch (const zmq::error_t&) {
      return false;
    }
  }
  // Blocks until a message is here, so long at most. False where a signal came.
  bool wait(std::chrono::milliseconds longest) {
    zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
    try {
      zmq::poll(&item, 1, longest);
    } catch (const zmq::error_t&) {
      return false;
    }
    return true;
  }

 private:
  static constexpr Time kConnectAgain = std::chrono::seconds(3);

  void disconnect() {
    if (endpoint_.empty()) return;
    try {
      socket_.disconnect(endpoint_);
    } catch (const zmq::error_t&) {
      // libzmq has dropped it already.
    }
    endpoint_.clear();
  }

  zmq::context_t context_;
  zmq::socket_t socket_;
  std::optional<Handshakes> handshakes_;  // watched where a key is in use
  std::string endpoint_;
  std::string key_;  // the public one, in use
  std::string refused_at_;
  Time connected_{0};
};

}  // namespace gearshift::client::detail

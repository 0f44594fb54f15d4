// The C++ client's socket: connected to where the daemon listens, and anew where that moved or the
// connection broke.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <zmq.hpp>

#include "bridge/client/gearshift_context.hpp"
#include "bridge/client/gearshift_endpoint.hpp"
#include "bridge/client/gearshift_key.hpp"
#include "bridge/client/gearshift_patience.hpp"
#include "bridge/client/gearshift_wire.hpp"

namespace gearshift::client::detail {

// Lets go of the lock until there is something to read, which another thread may take first: not
// for long.
inline void wait_readable(std::unique_lock<std::mutex>& lock, int descriptor,
                          std::chrono::milliseconds longest) {
  pollfd item{descriptor, POLLIN, 0};
  lock.unlock();
  ::poll(&item, 1, static_cast<int>(longest.count()));
  lock.lock();
}

// Not for several threads at once. No call blocks but wait(), nor does its end for longer than half
// a second.
class DaemonSocket {
 public:
  using Time = std::chrono::nanoseconds;  // since any moment

  // Throws std::system_error or zmq::error_t where the process may open no more files or threads.
  DaemonSocket() : context_(new_context()), socket_(context_, zmq::socket_type::dealer) {
    socket_.set(zmq::sockopt::immediate, true);
    socket_.set(zmq::sockopt::linger, 100);  // milliseconds for the bye, where there is a daemon
    socket_.set(zmq::sockopt::sndhwm, 256);
    socket_.set(zmq::sockopt::rcvhwm, 256);
    socket_.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMaxMessageBytes));
    socket_.set(zmq::sockopt::reconnect_ivl, 100);
  }
  ~DaemonSocket() {
    handshakes_.reset();
    socket_.close();
    end_context(std::move(context_), kLongestEnd);
  }
  DaemonSocket(const DaemonSocket&) = delete;
  DaemonSocket& operator=(const DaemonSocket&) = delete;

  // Where it is not connected there already, and anew where it does not answer: a daemon that
  // stands still takes no connection, and would find all messages at once when it goes on. To
  // nothing where the endpoint is empty. `key` as use_key() takes it. Throws KeyError, or
  // std::invalid_argument naming the endpoint.
  void connect(const std::string& endpoint, const std::string& key, Time now) {
    if (endpoint == endpoint_ && unanswered_ < kMostUnanswered) return;
    disconnect();
    if (endpoint.empty()) return;
    if (auto used = use_key(socket_, endpoint, key)) key_ = std::move(used);
    try {
      if (is_tcp(endpoint) && !handshakes_) handshakes_.emplace(context_, socket_);
      socket_.set(zmq::sockopt::ipv6, is_ipv6(endpoint));
      socket_.connect(endpoint);
    } catch (const zmq::error_t& error) {
      throw std::invalid_argument("endpoint " + endpoint + ": " + error.what() +
                                  "; give one like ipc:///path or leave it out");
    }
    endpoint_ = endpoint;
    connected_ = now;
    unanswered_ = 0;
  }

  // connect() to where the daemon is looked for now. `distrusted` becomes what people should know.
  void look(const Options& options, Time now, std::string& distrusted) {
    connect(find_endpoint(options.endpoint, distrusted), options.key, now);
  }

  // After a send that failed: the next connect() is a new one, unless this one is young. libzmq
  // gives up for good where a handshake fails. Returns what people should know, or nothing.
  std::string disconnect_if_stuck(Time now) {
    if (endpoint_.empty() || !patience_.over(now - connected_)) return {};
    const std::string endpoint = endpoint_;
    disconnect();
    if (!handshakes_) return {};
    std::string failure = failure_at(endpoint);
    failure.empty() ? patience_.was_in_vain() : patience_.restart();
    return failure;
  }

  // False where no daemon takes it now.
  bool send(const void* data, std::size_t size) {
    try {
      if (!socket_.send(zmq::const_buffer(data, size), zmq::send_flags::dontwait)) return false;
    } catch (const zmq::error_t&) {
      return false;
    }
    ++unanswered_;
    return true;
  }
  // False where no message is here.
  bool receive(zmq::message_t& frame) {
    try {
      if (!socket_.recv(frame, zmq::recv_flags::dontwait)) return false;
    } catch (const zmq::error_t&) {
      return false;
    }
    unanswered_ = 0;
    patience_.restart();
    return true;
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

  // Readable where a message may have come since the last receive() that found none.
  int descriptor() const { return socket_.get(zmq::sockopt::fd); }

 private:
  static constexpr std::chrono::milliseconds kLongestEnd{500};
  static constexpr std::uint64_t kMostUnanswered = 3;

  // What became of the handshakes with the daemon there, for people; empty where none failed.
  std::string failure_at(const std::string& endpoint) {
    const Handshakes::Failure failure = handshakes_->take_failure();
    const std::string daemon = "the daemon at " + endpoint;
    if (!key_) {
      if (failure == Handshakes::Failure::none) return {};
      const std::string wish =
          " wants a key: gearshift keys client NAME there, and GEARSHIFT_KEY=FILE here";
      if (failure == Handshakes::Failure::one_side_has_keys) return daemon + wish;
      return daemon +
             " closes the connection before it has heard the client: it holds as many as it takes, "
             "128 at most, or" +
             wish;
    }
    switch (failure) {
      case Handshakes::Failure::none:
        return {};
      case Handshakes::Failure::closed:
        return daemon + " closes the connection before it has seen the key of client " +
               key_->client +
               ": it has another key than the key file's server line (gearshift keys list shows it "
               "there), uses none, or holds as many connections as it takes, 128 at most";
      case Handshakes::Failure::refused:
        return daemon + " refuses the key of client " + key_->client +
               ": its operator lets the client in with gearshift keys authorise " + key_->client +
               " '" + key_->text + "'";
      case Handshakes::Failure::one_side_has_keys:
        return daemon +
               " uses no keys, and lets in nobody who has one: give the client none "
               "(GEARSHIFT_KEY), or start the daemon with --keys";
    }
    return {};
  }

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
  std::optional<Handshakes> handshakes_;  // watched over tcp, where a daemon may have keys
  std::string endpoint_;
  std::optional<PublicKey> key_;  // in use
  Time connected_{0};
  ConnectPatience patience_;
  std::uint64_t unanswered_ = 0;  // messages sent since one came, or since it connected
};

// What the program gave is to be right: throws as connect() does. What the environment says is
// looked at again before each hello, and told then.
inline void check_given(DaemonSocket& socket, const Options& options, DaemonSocket::Time now) {
  std::string told_later;
  try {
    socket.look(options, now, told_later);
  } catch (const KeyError&) {
    if (!options.key.empty()) throw;
  } catch (const std::invalid_argument&) {
    if (!options.endpoint.empty()) throw;
  }
}

}  // namespace gearshift::client::detail

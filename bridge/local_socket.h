// Binds a ZeroMQ socket on this machine only, for one user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <zmq.hpp>

namespace gearshift {

// A ROUTER that limits messages to the protocol's size and never blocks. An ipc socket is of mode
// 0600 from its first moment (the process's umask is changed while it is bound) and belongs to
// `owner`; its folder is made where it is missing, and a socket file that nobody answers on is
// removed, as is its own when it is closed.
class LocalRouter {
 public:
  // Throws std::runtime_error naming the endpoint and the way out.
  LocalRouter(zmq::context_t& context, const std::string& endpoint, std::uint32_t owner);
  ~LocalRouter();
  LocalRouter(const LocalRouter&) = delete;
  LocalRouter& operator=(const LocalRouter&) = delete;

  // To be polled for ZMQ_POLLIN.
  zmq::socket_ref socket() { return socket_; }
  // The next message of one frame, as its two parts. False where none waits. Messages of any other
  // number of frames are read and dropped. Each one read lowers `budget`; at 0 none is read.
  bool receive(zmq::message_t& identity, zmq::message_t& frame, std::size_t& budget);
  // False where the connection is gone or its queue is full. Never blocks.
  bool send(std::string_view identity, std::string_view frame);

 private:
  zmq::socket_t socket_;
  std::filesystem::path path_;  // of an ipc socket
};

}  // namespace gearshift

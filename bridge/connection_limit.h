// Bounds how many connections a socket that is bound holds, so that no flood of them takes the
// descriptors that knobs and journal need.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <vector>
#include <zmq.hpp>

namespace gearshift {

// What a socket may hold by this process's limit of descriptors: 128, and less where that is low.
std::size_t most_connections();

// libzmq takes every connection, and ends the process when it has no descriptor for one of an ipc
// socket. Those beyond `most` are shut here as soon as they are told of; who is in stays in.
class ConnectionLimit {
 public:
  // `socket` is not bound yet, and outlives this. Throws zmq::error_t.
  ConnectionLimit(zmq::context_t& context, zmq::socket_t& socket, std::size_t most);
  ~ConnectionLimit();
  ConnectionLimit(const ConnectionLimit&) = delete;
  ConnectionLimit& operator=(const ConnectionLimit&) = delete;

  // To be polled for ZMQ_POLLIN.
  zmq::socket_ref socket() { return monitor_; }
  // Looks at what came and went, and shuts what is beyond. Bounded; never blocks.
  void enforce();

 private:
  void accepted(int descriptor);
  bool ours(int descriptor) const;

  zmq::socket_t& watched_;
  zmq::socket_t monitor_;
  const std::size_t most_;
  std::vector<int> open_;
  sockaddr_storage bound_{};
};

}  // namespace gearshift

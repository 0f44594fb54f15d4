// Binds a ZeroMQ socket on this machine only, for one user.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <zmq.hpp>

namespace gearshift {

// A ROUTER bound to `endpoint`, that limits messages to the protocol's size and never blocks. An
// ipc socket is of mode 0600 from its first moment (the process's umask is changed while it is
// bound) and belongs to `owner`; its folder is made where it is missing, and a socket file that
// nobody answers on is removed. Throws std::runtime_error naming the endpoint and the way out.
zmq::socket_t bind_router(zmq::context_t& context, const std::string& endpoint,
                          std::uint32_t owner);

// The next message of one frame, as its two parts. False where none waits. Messages of any other
// number of frames are read and dropped, `budget` of messages at most.
bool receive_frame(zmq::socket_t& socket, zmq::message_t& identity, zmq::message_t& frame,
                   std::size_t& budget);

// False where the connection is gone or its queue is full. Never blocks.
bool send_frame(zmq::socket_t& socket, std::string_view identity, std::string_view frame);

}  // namespace gearshift

// How the C++ client's libzmq begins and ends: without ending the program, nor keeping it.
//
// Has a thread, because libzmq ends only when it has looked up the name of the daemon's host, which
// a nameserver that is down makes half a minute.
#pragma once

#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <utility>
#include <zmq.hpp>

#include "bridge/client/gearshift_room.hpp"
#include "bridge/client/gearshift_signals.hpp"

namespace gearshift::client::detail {

// Throws as require_room() does, or zmq::error_t.
inline zmq::context_t new_context() {
  require_room();
  return zmq::context_t(1);
}

// Ends `context`, whose sockets are closed. Waits for what they have to send, `longest` at most;
// what is left then ends by itself, or with the program.
inline void end_context(zmq::context_t&& context, std::chrono::milliseconds longest) {
  std::promise<void> promise;
  const std::future<void> ended = promise.get_future();
  try {
    const SignalsBlocked blocked;
    std::thread([context = std::move(context), promise = std::move(promise)]() mutable {
      context.close();
      promise.set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no thread is to be had, so it has ended in this one
  }
  ended.wait_for(longest);
}

}  // namespace gearshift::client::detail

// Whether the C++ client's process may open what libzmq needs, which ends the process where it gets
// too little.
//
// Starts threads for a moment, because only that tells whether some can be had.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <future>
#include <system_error>
#include <thread>

#include "bridge/client/gearshift_signals.hpp"

namespace gearshift::client::detail {

// Opens as many files and threads for a moment as a connection takes. Throws std::system_error,
// whose text says what there is too little of.
inline void require_room() {
  constexpr std::size_t kFiles = 16;   // a socket takes six, its connection over tcp some more
  constexpr std::size_t kThreads = 3;  // two of libzmq, and the connection's own
  struct Held {
    ~Held() {
      done.set_value();
      for (std::thread& thread : threads) {
        if (thread.joinable()) thread.join();
      }
      for (const int file : files) {
        if (file >= 0) ::close(file);
      }
    }
    std::promise<void> done;
    std::array<std::thread, kThreads> threads;
    std::array<int, kFiles> files{};
  } held;
  held.files.fill(-1);
  const std::shared_future<void> done = held.done.get_future().share();
  {
    const SignalsBlocked blocked;
    for (std::thread& thread : held.threads) thread = std::thread([done] { done.wait(); });
  }
  for (int& file : held.files) {
    file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file < 0) throw std::system_error(errno, std::generic_category(), "files");
  }
}

}  // namespace gearshift::client::detail

// How a program ends its wait for a turn.
#pragma once

#include <functional>
#include <mutex>

namespace gearshift::client {

// Whether a turn is waited for no more; it should be quick.
using GivesUp = std::function<bool()>;

namespace detail {

// Asked without the lock, since it may ask the workload. Throws what it does.
inline bool over(std::unique_lock<std::mutex>& lock, const GivesUp& gives_up) {
  if (!gives_up) return false;
  lock.unlock();
  const bool gave_up = gives_up();
  lock.lock();
  return gave_up;
}

}  // namespace detail

}  // namespace gearshift::client

// What tells the C++ interleaver's thread that something came, in a forked child too.
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace gearshift::client::detail {

// A condition variable. Where a thread waited when its program forked, the child's copy counts it
// for ever, and glibc waits for it: so a child has one of its own. Called under the lock.
class News {
 public:
  News() = default;
  ~News() {
    if (::getpid() != process_) static_cast<void>(variable_.release());
  }
  News(const News&) = delete;
  News& operator=(const News&) = delete;

  void notify_one() { here().notify_one(); }
  void notify_all() { here().notify_all(); }
  void wait_for(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds longest) {
    here().wait_for(lock, longest);
  }

 private:
  std::condition_variable& here() {
    if (::getpid() != process_) {
      static_cast<void>(variable_.release());
      variable_ = std::make_unique<std::condition_variable>();
      process_ = ::getpid();
    }
    return *variable_;
  }

  std::unique_ptr<std::condition_variable> variable_ = std::make_unique<std::condition_variable>();
  pid_t process_ = ::getpid();
};

}  // namespace gearshift::client::detail

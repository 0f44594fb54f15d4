// What answers the daemon, which waits for it: kept until there is room to send it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "bridge/client/gearshift_wire.hpp"

namespace gearshift::client::detail {

class Answers {
 public:
  // Bounded: a daemon that reads nothing asks for nothing either.
  static constexpr std::size_t kMost = 64;

  void add(const Frame& frame) {
    if (waiting_.size() == kMost) waiting_.pop_front();
    waiting_.emplace_back(frame.data(), frame.size());
  }
  // In their order, for as long as there is room. Whether any was sent.
  template <typename Socket>
  bool send(Socket& socket) {
    const std::size_t before = waiting_.size();
    while (!waiting_.empty() && socket.send(waiting_.front().data(), waiting_.front().size())) {
      waiting_.pop_front();
    }
    return waiting_.size() < before;
  }
  void forget() { waiting_.clear(); }

 private:
  std::deque<std::string> waiting_;
};

}  // namespace gearshift::client::detail

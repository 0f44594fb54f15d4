// A turn on an accelerator that programs share, for as long as this lives:
//
//   const gearshift::client::HeldTurn turn(workload);
//   train_one();  // timed from here on: waiting for the turn is in no minibatch
#pragma once

#include <cstdint>

#include "bridge/client/gearshift.hpp"

namespace gearshift::client {

class HeldTurn {
 public:
  explicit HeldTurn(Workload& workload) : workload_(workload), number_(workload.take_turn()) {}
  ~HeldTurn() { workload_.end_turn(number_); }
  HeldTurn(const HeldTurn&) = delete;
  HeldTurn& operator=(const HeldTurn&) = delete;

 private:
  Workload& workload_;
  const std::uint64_t number_;
};

}  // namespace gearshift::client

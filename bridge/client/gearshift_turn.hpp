// A turn on an accelerator that programs share, for as long as this lives:
//
//   const gearshift::client::HeldTurn turn(workload);
//   train_one();  // timed from here on: waiting for the turn is in no minibatch
//
// Where a signal is to end the wait too, which a server that never rests makes long:
//
//   const gearshift::client::HeldTurn turn(workload, [&] { return stopped.load(); });
//   if (turn.given_up()) break;
#pragma once

#include <cstdint>
#include <optional>

#include "bridge/client/gearshift.hpp"
#include "bridge/client/gearshift_gives_up.hpp"

namespace gearshift::client {

class HeldTurn {
 public:
  // Blocks as Workload::take_turn() does.
  explicit HeldTurn(Workload& workload, const GivesUp& gives_up = {})
      : workload_(workload), number_(workload.take_turn(gives_up)) {}
  ~HeldTurn() { workload_.end_turn(number_.value_or(0)); }
  HeldTurn(const HeldTurn&) = delete;
  HeldTurn& operator=(const HeldTurn&) = delete;

  // gives_up() was true first: the accelerator is not this program's.
  bool given_up() const { return !number_; }

 private:
  Workload& workload_;
  const std::optional<std::uint64_t> number_;
};

}  // namespace gearshift::client

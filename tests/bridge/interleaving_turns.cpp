// Says for each state on its input what controller/interleaving.h answers, so that a test can hold
// the rule of the Python client against it.
//
// A line in: queued oldest_wait since_arrival batch_size latency train infer trains infers
// oversleeps size_is_chosen under_way waited. A line out: turn longest_wait training_fits admits
// serves.
#include <chrono>
#include <cstdint>
#include <iostream>

#include "controller/interleaving.h"

int main() {
  using std::chrono::nanoseconds;
  gearshift::InterleavingState state;
  std::int64_t oldest_wait, since_arrival, latency, train, infer, oversleeps, under_way, waited;
  while (std::cin >> state.queued >> oldest_wait >> since_arrival >> state.batch_size >> latency >>
         train >> infer >> state.trains >> state.infers >> oversleeps >> state.size_is_chosen >>
         under_way >> waited) {
    state.oldest_wait = nanoseconds(oldest_wait);
    state.since_arrival = nanoseconds(since_arrival);
    state.latency = nanoseconds(latency);
    state.train_minibatch = nanoseconds(train);
    state.infer_minibatch = nanoseconds(infer);
    state.oversleeps = nanoseconds(oversleeps);
    const gearshift::TurnChoice choice = gearshift::next_turn(state);
    constexpr const char* kTurns[] = {"train", "infer", "wait"};
    std::cout << kTurns[static_cast<int>(choice.turn)] << ' ' << choice.longest_wait.count() << ' '
              << gearshift::training_fits(state) << ' '
              << gearshift::admits(state, nanoseconds(under_way)) << ' '
              << gearshift::serves(state, nanoseconds(waited)) << '\n';
  }
  return 0;
}

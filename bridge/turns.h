// Whose turn it is on an accelerator that processes share: one at a time, inference before
// training.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/setting.h"

namespace gearshift {

// A table without I/O or clock. A workload waits for one turn at most; within a kind the one that
// asked first comes first. Training gets its turn when no inference waits.
class Turns {
 public:
  struct Turn {
    WorkloadHandle workload = 0;
    std::uint64_t number = 0;  // the client's own
    bool operator==(const Turn&) const = default;
  };

  // Who holds the turn for longer than `longest` loses it.
  explicit Turns(Duration longest) : longest_(longest) {}

  // Asks for a turn. What this workload asked for before is void, and a turn it holds ends. Asked
  // again with the same number, it keeps its place, or its turn: true where it holds that.
  bool request(WorkloadHandle workload, Kind kind, std::uint64_t number);
  // Ends a turn, or withdraws a request that waits. Another number than the newest is ignored.
  void end(WorkloadHandle workload, std::uint64_t number);
  // The workload has another handle from now on: a turn that it holds goes on. What it waits for is
  // not carried over.
  void rename(WorkloadHandle before, WorkloadHandle after);
  // This turn is held, or waited for.
  bool knows(WorkloadHandle workload, std::uint64_t number) const;
  // The workload is gone: it neither waits nor holds.
  void leave(WorkloadHandle workload);

  // The turn that was held for too long, which ends.
  std::optional<Turn> expire(Time now);
  // The next turn, which begins, where nobody holds one.
  std::optional<Turn> grant(Time now);
  // When expire() has something to do, if nothing else happens.
  std::optional<Time> due() const;

 private:
  struct Waiting {
    Turn turn;
    Kind kind = Kind::train;
  };
  bool waits(const Turn& turn) const;

  const Duration longest_;
  std::optional<Turn> held_;
  Time since_{};
  std::vector<Waiting> waiting_;  // in the order they asked
};

}  // namespace gearshift

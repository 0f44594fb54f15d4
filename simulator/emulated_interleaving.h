// A program that trains and serves on one accelerator and computes nothing: its turns follow the
// rule of interleaving, and take as long as the board model says at the clocks of the moment.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "boards/board_description.h"
#include "boards/cost_model.h"
#include "controller/clock.h"
#include "controller/setting.h"
#include "simulator/arrivals.h"
#include "simulator/emulated_workload.h"
#include "simulator/noise.h"
#include "simulator/request_server.h"

namespace gearshift {

// What a minibatch is of, and how it is done.
struct InterleavedWork {
  const WorkloadParameters* train = nullptr;  // outlive the emulation
  const WorkloadParameters* infer = nullptr;
  std::int32_t train_batch_size = 16;  // samples
  std::int32_t infer_batch_size = 1;   // requests, at most
  const ArrivalSpec* arrivals = nullptr;
  Duration latency{};  // a request's, from its arrival to its answer
};

class EmulatedInterleaving {
 public:
  struct Finished {
    Kind kind = Kind::train;
    EmulatedMinibatch minibatch;
  };

  // Time begins at 0. `board`, which has a model, outlives the emulation; options as for
  // EmulatedWorkload.
  EmulatedInterleaving(const BoardDescription& board, const InterleavedWork& work,
                       const EmulationOptions& options);

  // Works at these clocks until `time`, or until a turn ends or begins: returns true then, and
  // there may be more to do before `time`.
  bool advance(Time time, const ModelMode& clocks);
  // The minibatch that ended last, once.
  std::optional<Finished> take_finished();
  // What runs; nullopt: nothing, a request is waited for.
  std::optional<Kind> turn() const { return turn_; }
  // When the turn ends, or the next begins, if the clocks stay.
  Time next_change(const ModelMode& clocks) const;

  Time now() const { return now_; }
  // What became of the requests, when it is due: see RequestServer.
  Time report_due() const { return server_.report_due(); }
  void report(const ModelMode& clocks, EventBuffer& events);
  // From the next minibatch on: those under way end as they began.
  void set_infer_batch_size(std::int32_t batch_size) { infer_batch_size_ = batch_size; }
  void request_train_batch_size(std::int32_t batch_size);
  bool train_batch_size_pending() const { return train_.batch_size_pending(); }
  std::int32_t train_batch_size() const { return train_.batch_size(); }
  std::int32_t infer_batch_size() const { return infer_batch_size_; }
  void set_runs(bool trains, bool infers);

 private:
  InterleavingState times(const ModelMode& clocks) const;
  bool begin_turn(const ModelMode& clocks);
  EmulatedWorkload& worker() { return turn_ == Kind::train ? train_ : infer_; }
  const EmulatedWorkload& worker() const { return turn_ == Kind::train ? train_ : infer_; }

  const BoardDescription& board_;
  const InterleavedWork work_;
  const Jitter jitter_;
  EmulatedWorkload train_;
  EmulatedWorkload infer_;
  RequestServer server_;
  std::int32_t infer_batch_size_;
  bool trains_ = true;
  bool infers_ = true;
  Time now_{};
  std::optional<Kind> turn_;
  std::optional<Finished> finished_;
};

}  // namespace gearshift

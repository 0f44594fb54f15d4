#include "simulator/emulated_interleaving.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

EmulationOptions of_kind(EmulationOptions options, Kind kind) {
  options.seed = 2 * options.seed + index(kind);
  return options;
}

Duration minibatch_time(const BoardDescription& board, const WorkloadParameters& workload,
                        std::int32_t batch_size, const ModelMode& clocks, double factor) {
  const DeviceParameters& device = board.parameters(workload.kind);
  const double ms = minibatch_cost(device, workload.demand(batch_size), clocks).minibatch_ms;
  return Duration(std::llround(factor * ms * 1e6));
}

}  // namespace

EmulatedInterleaving::EmulatedInterleaving(const BoardDescription& board,
                                           const InterleavedWork& work,
                                           const EmulationOptions& options)
    : board_(board),
      work_(work),
      jitter_(options.jitter),
      train_(board.parameters(Kind::train), *work.train, work.train_batch_size,
             of_kind(options, Kind::train)),
      infer_(board.parameters(Kind::infer), *work.infer, work.infer_batch_size,
             of_kind(options, Kind::infer)),
      server_(*work.arrivals, work.latency, options.seed, 0),
      infer_batch_size_(work.infer_batch_size) {}

InterleavingState EmulatedInterleaving::times(const ModelMode& clocks) const {
  InterleavingState state;
  state.batch_size = infer_batch_size_;
  state.latency = work_.latency;
  state.trains = trains_;
  state.infers = infers_;
  const double high = jitter_.percentile99();
  state.train_minibatch = minibatch_time(board_, *work_.train, train_.batch_size(), clocks, high);
  state.infer_minibatch = minibatch_time(board_, *work_.infer, infer_batch_size_, clocks, high);
  return state;
}

// True where a turn has begun.
bool EmulatedInterleaving::begin_turn(const ModelMode& clocks) {
  const Turn turn = server_.choose(now_, times(clocks));
  if (turn == Turn::wait) return false;
  turn_ = turn == Turn::train ? Kind::train : Kind::infer;
  if (turn == Turn::infer) {
    infer_.request_batch_size(static_cast<std::int32_t>(server_.count()));
    infer_.drain();
  }
  return true;
}

bool EmulatedInterleaving::advance(Time time, const ModelMode& clocks) {
  if (!turn_) {
    if (now_ >= server_.wake() && begin_turn(clocks)) return true;
    now_ = std::min(time, std::max(now_, server_.wake()));
    return false;
  }
  if (now_ >= time) return false;
  now_ += std::max(Duration(1), worker().work(time - now_, clocks));
  const auto ended = worker().take_finished();
  if (!ended) return false;
  finished_ = Finished{*turn_, *ended};
  server_.end(now_, turn_ == Kind::infer ? Turn::infer : Turn::train);
  turn_.reset();
  return true;
}

void EmulatedInterleaving::report(const ModelMode& clocks, EventBuffer& events) {
  server_.report(now_, turn_ ? next_change(clocks) : now_, 0, events);
}

std::optional<EmulatedInterleaving::Finished> EmulatedInterleaving::take_finished() {
  const std::optional<Finished> finished = finished_;
  finished_.reset();
  return finished;
}

Time EmulatedInterleaving::next_change(const ModelMode& clocks) const {
  if (turn_) return now_ + worker().remaining(clocks);
  return std::max(now_, server_.wake());
}

void EmulatedInterleaving::request_train_batch_size(std::int32_t batch_size) {
  train_.request_batch_size(batch_size);
}

void EmulatedInterleaving::set_runs(bool trains, bool infers) {
  if (trains_ && !trains) train_.drain();
  trains_ = trains;
  infers_ = infers;
  server_.wake_at(now_);
}

}  // namespace gearshift

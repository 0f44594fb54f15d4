#include "simulator/emulated_interleaving.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// The 99th percentile of a lognormal with mean 1 and so large a relative deviation.
double percentile99(double jitter) {
  const double variance = std::log(1 + jitter * jitter);
  return std::exp(2.3263 * std::sqrt(variance) - variance / 2);
}

EmulationOptions of_kind(EmulationOptions options, Kind kind) {
  options.seed = 2 * options.seed + index(kind);
  return options;
}

Duration minibatch_time(const DeviceParameters& device, const WorkloadParameters& workload,
                        std::int32_t batch_size, const ModelMode& clocks, double factor) {
  const double ms = minibatch_cost(device, workload.demand(batch_size), clocks).minibatch_ms;
  return Duration(std::llround(factor * ms * 1e6));
}

}  // namespace

EmulatedInterleaving::EmulatedInterleaving(const DeviceParameters& device,
                                           const InterleavedWork& work,
                                           const EmulationOptions& options)
    : device_(device),
      work_(work),
      slow_factor_(percentile99(options.jitter)),
      train_(device, *work.train, work.train_batch_size, of_kind(options, Kind::train)),
      infer_(device, *work.infer, work.infer_batch_size, of_kind(options, Kind::infer)),
      queue_(Arrivals(*work.arrivals, options.seed), work.latency),
      infer_batch_size_(work.infer_batch_size) {}

InterleavingState EmulatedInterleaving::times(const ModelMode& clocks) const {
  InterleavingState state;
  state.batch_size = infer_batch_size_;
  state.latency = work_.latency;
  state.trains = trains_;
  state.infers = infers_;
  state.train_minibatch =
      minibatch_time(device_, *work_.train, train_.batch_size(), clocks, slow_factor_);
  state.infer_minibatch =
      minibatch_time(device_, *work_.infer, infer_batch_size_, clocks, slow_factor_);
  return state;
}

bool EmulatedInterleaving::begin_inference(const InterleavingState& times) {
  const std::uint32_t requests = queue_.begin(now_, times);
  if (requests == 0) return false;
  infer_.request_batch_size(static_cast<std::int32_t>(requests));
  infer_.drain();
  turn_ = Kind::infer;
  return true;
}

// True where a turn has begun.
bool EmulatedInterleaving::begin_turn(const ModelMode& clocks) {
  const InterleavingState of_now = times(clocks);
  queue_.take_arrivals(now_, now_, of_now);
  const TurnChoice choice = next_turn(queue_.state(now_, of_now));
  if (choice.turn == Turn::infer && begin_inference(of_now)) return true;
  if (choice.turn == Turn::train) {
    turn_ = Kind::train;
    return true;
  }
  // A batch of which nothing was left to serve asks again at once.
  const bool again = choice.turn == Turn::infer;
  const Duration longest = again ? Duration(1) : choice.longest_wait;
  const Time at_most = longest > Time::max() - now_ ? Time::max() : now_ + longest;
  waits_until_ = std::min(at_most, queue_.next_arrival());
  return false;
}

bool EmulatedInterleaving::advance(Time time, const ModelMode& clocks) {
  if (!turn_) {
    if (now_ >= waits_until_ && begin_turn(clocks)) return true;
    now_ = std::min(time, std::max(now_, waits_until_));
    return false;
  }
  if (now_ >= time) return false;
  now_ += std::max(Duration(1), worker().work(time - now_, clocks));
  const auto ended = worker().take_finished();
  const Time free = ended ? now_ : now_ + worker().remaining(clocks);
  queue_.take_arrivals(now_, free, times(clocks));
  if (!ended) return false;
  finished_ = Finished{*turn_, *ended};
  if (turn_ == Kind::infer) queue_.finish(now_);
  turn_.reset();
  waits_until_ = now_;
  return true;
}

std::optional<EmulatedInterleaving::Finished> EmulatedInterleaving::take_finished() {
  const std::optional<Finished> finished = finished_;
  finished_.reset();
  return finished;
}

Time EmulatedInterleaving::next_change(const ModelMode& clocks) const {
  if (turn_) return now_ + worker().remaining(clocks);
  return std::max(now_, waits_until_);
}

void EmulatedInterleaving::request_train_batch_size(std::int32_t batch_size) {
  train_.request_batch_size(batch_size);
}

void EmulatedInterleaving::set_runs(bool trains, bool infers) {
  if (trains_ && !trains) train_.drain();
  trains_ = trains;
  infers_ = infers;
  waits_until_ = std::min(waits_until_, now_);
}

}  // namespace gearshift

// The rule by which one accelerator takes turns between training and requests to answer: a pure
// function of what waits and of the times measured, the same live and simulated.
#pragma once

#include <chrono>
#include <cstdint>

namespace gearshift {

// Standard library and inline: a client includes this header alone.

enum class Turn : std::uint8_t {
  train,  // one training minibatch
  infer,  // one inference minibatch, of batch_size requests or of fewer
  wait,   // for a request, or for the time that goes with it
};

// Everything is as it stands when the accelerator is free. Times are nanoseconds; those of
// minibatches are pure service times that few are above (their 99th percentile), 0 before the
// first.
struct InterleavingState {
  std::uint32_t queued = 0;                  // requests that wait
  std::chrono::nanoseconds oldest_wait{};    // of the first of them
  std::chrono::nanoseconds since_arrival{};  // of the newest request; max(): none came yet
  std::int32_t batch_size = 1;               // requests an inference minibatch takes at most
  std::chrono::nanoseconds latency{};        // a request's, from arrival to answer; 0: no limit
  std::chrono::nanoseconds train_minibatch{};
  std::chrono::nanoseconds infer_minibatch{};  // of batch_size requests
  bool trains = true;                          // training may run
  bool infers = true;                          // inference may run
  std::chrono::nanoseconds oversleeps{};       // how late a wait that is to end now may end
  bool size_is_chosen = true;  // batch_size by the daemon, for what full batches cost
};

struct TurnChoice {
  Turn turn = Turn::wait;
  // Turn::wait: ask again after so long, and at once when a request comes; max(): only then.
  std::chrono::nanoseconds longest_wait{};
};

// Minibatches are planned to end within nine tenths of the latency: the last tenth is for what the
// times measured do not tell.
constexpr std::chrono::nanoseconds planned_latency(std::chrono::nanoseconds latency) {
  return latency - latency / 10;
}

// Requests count as arriving for so long after the last one; without a limit a batch whose size the
// daemon chose, or beside training, also waits no longer than this to fill.
constexpr std::chrono::nanoseconds arrival_memory(std::chrono::nanoseconds latency) {
  const std::chrono::nanoseconds second = std::chrono::seconds(1);
  return latency > second ? latency : second;
}

// Whether a training minibatch may start before a request that comes just after it is answered.
constexpr bool training_fits(const InterleavingState& state) {
  return state.latency <= std::chrono::nanoseconds::zero() ||
         state.train_minibatch + state.infer_minibatch <= planned_latency(state.latency);
}

// Whether a request that comes now is queued: it is refused where it would be late although nothing
// but the requests before it ran first. `queued` is without it; `under_way` is what is left of the
// minibatch that runs, 0 where none does.
constexpr bool admits(const InterleavingState& state, std::chrono::nanoseconds under_way) {
  if (state.latency <= std::chrono::nanoseconds::zero()) return true;
  const std::int64_t batch_size = state.batch_size > 0 ? state.batch_size : 1;
  const std::int64_t minibatches = static_cast<std::int64_t>(state.queued) / batch_size + 1;
  return under_way + minibatches * state.infer_minibatch <= state.latency;
}

// The longest training minibatch with which training runs and batches are half full on average
// (controller/meter.h counts those that are), where half of one has come `half_batch` after the
// first of its requests. A batch is served behind the training minibatch during which it would
// become late, so half a minibatch before that. And training goes on behind a batch only once what
// came meanwhile may wait for it: where not, ever smaller batches are served at once, down to those
// that take about half as long as a full one. No limit on latency: any; never: negative.
constexpr std::chrono::nanoseconds longest_beside_half_full(std::chrono::nanoseconds latency,
                                                            std::chrono::nanoseconds half_batch,
                                                            std::chrono::nanoseconds infer) {
  if (latency <= std::chrono::nanoseconds::zero()) return std::chrono::nanoseconds::max();
  const std::chrono::nanoseconds left = planned_latency(latency) - infer;
  const std::chrono::nanoseconds goes_on = left - infer / 2;
  const std::chrono::nanoseconds fills = 2 * (left - half_batch);
  return goes_on < fills ? goes_on : fills;
}

// What runs next: inference when a batch is full, or when the oldest request would be late if a
// training minibatch ran first; else training. Where a training minibatch alone would make a
// request late, training waits for as long as requests keep arriving; but not where an inference
// minibatch alone does, since none is queued then for which to wait. Where nothing trains, a batch
// waits to be full until the latest start that its oldest request allows, less a tenth of the
// latency at most for a wait that ends late: a full batch costs the least energy a request, and the
// controller chooses its size for that. Without a limit on latency it waits only where that is so.
constexpr TurnChoice next_turn(const InterleavingState& state) {
  using std::chrono::nanoseconds;
  constexpr nanoseconds kNone = nanoseconds::zero();
  constexpr nanoseconds kNever = nanoseconds::max();
  const nanoseconds memory = arrival_memory(state.latency);
  const bool arriving = state.infers && (state.queued > 0 || state.since_arrival < memory);
  const bool refuses_all = state.queued == 0 && !admits(state, kNone);
  const bool trains = state.trains && (!arriving || training_fits(state) || refuses_all);
  if (state.infers && state.queued > 0) {
    if (state.queued >= static_cast<std::uint32_t>(state.batch_size > 0 ? state.batch_size : 1)) {
      return {Turn::infer, kNone};
    }
    const bool limited = state.latency > kNone;
    if (!trains && !limited && !state.size_is_chosen) return {Turn::infer, kNone};
    nanoseconds latest = memory;
    if (limited) latest = planned_latency(state.latency) - state.infer_minibatch;
    if (limited && !trains) {
      const nanoseconds tenth = state.latency / 10;
      latest -= state.oversleeps < tenth ? state.oversleeps : tenth;
    }
    const nanoseconds before = trains ? state.train_minibatch : kNone;
    if (state.oldest_wait + before > latest) return {Turn::infer, kNone};
    if (trains) return {Turn::train, kNone};
    // One more: the limit itself is not past it.
    return {Turn::wait, latest - state.oldest_wait + nanoseconds(1)};
  }
  if (trains) return {Turn::train, kNone};
  if (state.trains) return {Turn::wait, memory - state.since_arrival};
  return {Turn::wait, kNever};
}

// Whether a request that has waited so long is still served by the inference minibatch that begins
// now: one that is late all the same is dropped, so that it makes no other late.
constexpr bool serves(const InterleavingState& state, std::chrono::nanoseconds waited) {
  return state.latency <= std::chrono::nanoseconds::zero() ||
         waited + state.infer_minibatch <= state.latency;
}

}  // namespace gearshift

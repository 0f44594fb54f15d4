#include "simulator/request_run.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "simulator/noise.h"
#include "simulator/request_queue.h"

namespace gearshift {
namespace {

constexpr Duration kMinute = std::chrono::minutes(1);

Duration from_ms(double ms) { return std::max(Duration(1), Duration(std::llround(ms * kNsInMs))); }

class RequestTurns {
 public:
  explicit RequestTurns(const RequestRun& run)
      : run_(run),
        jitter_(run.jitter),
        queue_(Arrivals(run.arrivals, run.seed), run.latency),
        whole_(run.latency) {
    const double high = jitter_.percentile99();
    times_.batch_size = run.batch_size;
    times_.latency = run.latency;
    times_.trains = run.train_minibatch_ms > 0;
    times_.train_minibatch = from_ms(high * run.train_minibatch_ms);
    times_.infer_minibatch = from_ms(high * infer_ms(static_cast<std::uint32_t>(run.batch_size)));
  }

  RequestRunResult result() {
    const Time end = Time{} + run_.minutes * kMinute;
    while (now_ < end) {
      queue_.take_arrivals(now_, now_, times_);
      const TurnChoice choice = next_turn(queue_.state(now_, times_));
      if (choice.turn == Turn::wait) {
        const Time latest = choice.longest_wait < end - now_ ? now_ + choice.longest_wait : end;
        advance(std::min(latest, queue_.next_arrival()));
      } else if (choice.turn == Turn::train) {
        work(run_.train_minibatch_ms, Stream::jitter);
        ++minute_.trained;
      } else if (const std::uint32_t count = queue_.begin(now_, times_); count > 0) {
        work(infer_ms(count), Stream::inference_jitter);
        queue_.finish(now_);
        ++minute_.inferred;
        if (count < static_cast<std::uint32_t>(run_.batch_size)) ++minute_.partial;
      }
    }
    sum_up();
    return std::move(result_);
  }

 private:
  double infer_ms(std::uint32_t count) const {
    const auto size = static_cast<std::int32_t>(count);
    const auto above = std::find_if(run_.infer.begin(), run_.infer.end(),
                                    [&](const auto& time) { return time.batch_size >= size; });
    assert(above != run_.infer.end());
    if (above == run_.infer.begin() || above->batch_size == size) return above->minibatch_ms;
    const InferenceTime& below = *std::prev(above);
    const double share = static_cast<double>(size - below.batch_size) /
                         static_cast<double>(above->batch_size - below.batch_size);
    return below.minibatch_ms + share * (above->minibatch_ms - below.minibatch_ms);
  }

  void work(double mean_ms, Stream stream) {
    const double ms = mean_ms * jitter_.factor(normal_noise(run_.seed, stream, turns_++));
    const Time free = now_ + from_ms(ms);
    queue_.take_arrivals(free, free, times_);
    advance(free);
  }

  void advance(Time time) {
    now_ = time;
    while (now_ >= minute_end_ && result_.minutes.size() < run_.minutes) {
      whole_.add(queue_.tally());
      minute_.requests = queue_.tally().take();
      result_.minutes.push_back(minute_);
      minute_ = {};
      minute_end_ += kMinute;
    }
  }

  void sum_up() {
    RequestMinute& whole = result_.whole;
    whole.requests = whole_.take();
    std::size_t in_time = 0;
    for (const RequestMinute& minute : result_.minutes) {
      whole.trained += minute.trained;
      whole.inferred += minute.inferred;
      whole.partial += minute.partial;
      if (minute.in_time(run_.latency)) ++in_time;
    }
    result_.share_in_time = static_cast<double>(in_time) / run_.minutes;
    result_.trained_per_s = whole.trained / (60.0 * run_.minutes);
  }

  const RequestRun& run_;
  const Jitter jitter_;
  RequestQueue queue_;
  RequestTally whole_;
  InterleavingState times_;
  Time now_{};
  Time minute_end_ = Time{} + kMinute;
  std::uint64_t turns_ = 0;
  RequestMinute minute_;
  RequestRunResult result_;
};

}  // namespace

RequestRunResult run_requests(const RequestRun& run) {
  assert(run.minutes > 0 && run.batch_size > 0 && !run.infer.empty());
  return RequestTurns(run).result();
}

}  // namespace gearshift

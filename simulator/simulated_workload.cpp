#include "simulator/simulated_workload.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/emulated_workload.h"
#include "simulator/noise.h"

namespace gearshift {
namespace {

// A command is met when the minibatch under way ends; then the loader's batches are used up, and
// one more is fetched before the loader hears of it.
constexpr int kEndsUntilFollowed = EmulatedWorkload::kPrefetchedBatches + 2;

Duration from_ns(double ns) { return Duration(std::llround(ns)); }

}  // namespace

void SimulatedWorkload::command(const WorkloadCommand& command) {
  // Batches of this size are on their way already: each has the size that was wanted when the
  // loader was asked for it, so that only another size has to wait for its own.
  const bool fetched = wanted_ && wanted_->batch_size == command.batch_size;
  wanted_ = command;
  new_command_ = true;
  // Only to wait, or to run again, needs no new batches.
  if (!fetched) ends_left_ = command.batch_size == batch_size_ ? 1 : kEndsUntilFollowed;
}

bool SimulatedWorkload::take_new_command() {
  const bool came = new_command_;
  new_command_ = false;
  return came;
}

Event SimulatedWorkload::refuse(std::string_view why) {
  Event event;
  event.type = EventType::refused;
  event.handle = hello_.handle;
  event.set_sequence = wanted_->sequence;
  event.batch_size = wanted_->batch_size;
  event.text = BoundedText<96>(why);
  wanted_.reset();
  return event;
}

void SimulatedWorkload::follow_if_waiting(Time now, EventBuffer& events) {
  if (wanted_ && !runs_) follow(now, events);
}

void SimulatedWorkload::follow(Time now, EventBuffer& events) {
  batch_size_ = wanted_->batch_size;
  set_sequence_ = wanted_->sequence;
  runs_ = gearshift::runs(wanted_->run, hello_.kind);
  wanted_.reset();
  new_command_ = false;
  working_ = false;
  due_ = Time::max();
  began_ = now;
  Event& event = events.emplace_back();
  event.type = EventType::applied;
  event.handle = hello_.handle;
  event.set_sequence = set_sequence_;
  event.batch_size = batch_size_;
}

double SimulatedWorkload::duration_ns() const {
  double own_ns = pace_.minibatch_ns;
  if (!jitter_.none()) {
    own_ns *= jitter_.factor(normal_noise(pace_.noise_seed, Stream::jitter, minibatches_));
  }
  if (pace_.stall_ns > 0 && uniform_noise(pace_.noise_seed, Stream::stalls, minibatches_) <
                                pace_.minibatch_ns / pace_.stall_interval_ns) {
    own_ns += pace_.stall_ns;
  }
  if (minibatches_ == 0) own_ns += pace_.first_ns;
  return own_ns + pace_.others_ns;
}

void SimulatedWorkload::set_pace(Time now, const Pace& pace) {
  const double left =
      working_ ? static_cast<double>((due_ - now).count()) / std::max(1.0, duration_ns()) : 1;
  pace_ = pace;
  jitter_ = Jitter(pace.jitter);
  if (!working_) began_ = now;
  working_ = true;
  due_ = now + std::max(Duration(1), from_ns(left * duration_ns()));
}

bool SimulatedWorkload::finish(EventBuffer& events) {
  Event& event = events.emplace_back();
  event.type = EventType::minibatch;
  event.handle = hello_.handle;
  Minibatch& minibatch = event.minibatch;
  minibatch.workload = hello_.handle;
  minibatch.kind = hello_.kind;
  minibatch.batch_size = batch_size_;
  minibatch.set_sequence = set_sequence_;
  minibatch.sequence = ++minibatches_;
  if (hello_.samples_per_epoch > 0) {
    minibatch.epoch =
        static_cast<std::uint32_t>(samples_ / static_cast<std::uint64_t>(hello_.samples_per_epoch));
    samples_ += static_cast<std::uint64_t>(batch_size_);
  }
  minibatch.elapsed = due_ - began_;
  if (!pace_.tells_others) {
    minibatch.elapsed = std::max(Duration(1), minibatch.elapsed - from_ns(pace_.others_ns));
  }
  minibatch.fetch_stall = from_ns(pace_.fetch_stall_ns);
  minibatch.compute = pace_.gpu_ns > 0 ? std::min(from_ns(pace_.gpu_ns), minibatch.elapsed)
                                       : minibatch.elapsed - minibatch.fetch_stall;
  minibatch.received = due_;
  began_ = due_;
  if (wanted_ && --ends_left_ <= 0) {
    follow(due_, events);
    return true;
  }
  due_ = began_ + std::max(Duration(1), from_ns(duration_ns()));
  return false;
}

void SimulatedWorkload::finish_alone(std::int32_t batch_size, EventBuffer& events) {
  const std::optional<WorkloadCommand> command = std::exchange(wanted_, std::nullopt);
  finish(events);
  wanted_ = command;
  events.back().minibatch.batch_size = batch_size;
  working_ = false;
  due_ = Time::max();
}

}  // namespace gearshift

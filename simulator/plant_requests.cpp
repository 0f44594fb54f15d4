// The part of the plant that serves requests one by one, and trains beside them.
#include <algorithm>
#include <cmath>

#include "simulator/noise.h"
#include "simulator/plant.h"

namespace gearshift {
namespace {

TrueCost between(const TrueCost& one, const TrueCost& other, double share) {
  const auto mean = [&](double a, double b) { return a + share * (b - a); };
  TrueCost cost = other;
  cost.minibatch_ms = mean(one.minibatch_ms, other.minibatch_ms);
  cost.gpu_ms = mean(one.gpu_ms, other.gpu_ms);
  cost.fetch_stall_ms = mean(one.fetch_stall_ms, other.fetch_stall_ms);
  cost.power_w = mean(one.power_w, other.power_w);
  return cost;
}

// As it is spread over the rails, but so much in all.
RailPower scaled(RailPower power, double total_mw) {
  const double factor = power.total_mw() > 0 ? total_mw / power.total_mw() : 1;
  for (double& mw : power.mw) mw *= factor;
  return power;
}

}  // namespace

// Where no cell says: between the allowed batch sizes on both sides, on the line through them.
TrueCost Plant::cost_of_requests(std::size_t task, std::int32_t count) const {
  const CostSource& source = costs(task);
  const PowerMode& mode = knobs_.mode();
  if (const auto cost = source.cost(mode, count)) return *cost;
  const std::vector<std::int32_t>& sizes = tasks_[task].batch_sizes;
  const auto at = [&](std::int32_t size) {
    const auto cost = source.cost(mode, size);
    return cost ? *cost : source.passing(mode, size);
  };
  const auto above = std::lower_bound(sizes.begin(), sizes.end(), count);
  if (above == sizes.end()) return at(sizes.back());
  if (above == sizes.begin() || *above == count) return at(*above);
  const std::int32_t below = *std::prev(above);
  return between(at(below), at(*above),
                 static_cast<double>(count - below) / static_cast<double>(*above - below));
}

// What few minibatches take longer than.
Duration Plant::long_minibatch(std::size_t task) const {
  const bool highest = knobs_.mode() == knobs_.space().highest();
  const double jitter = highest ? effects_.highest_jitter : effects_.jitter;
  return Duration(
      std::llround(Jitter(jitter).percentile99() * cost_of(task).minibatch_ms * kNsInMs));
}

InterleavingState Plant::times_of_now() const {
  InterleavingState times;
  const std::size_t infer = *task_of_[index(Kind::infer)];
  times.batch_size = workloads_[infer].batch_size();
  times.latency = tasks_[infer].latency;
  times.infer_minibatch = long_minibatch(infer);
  times.infers = workloads_[infer].runs();
  const std::optional<std::size_t> train = task_of_[index(Kind::train)];
  times.trains = train && workloads_[*train].runs();
  if (times.trains) times.train_minibatch = long_minibatch(*train);
  return times;
}

void Plant::renew_turn() {
  if (!running_) {
    server_->wake_at(now_);
    power_w_ = costs(0).idle_power_w(knobs_.mode());
    if (effects_.quantised) rails_ = costs(0).rails(knobs_.mode(), std::nullopt);
  } else {
    const std::size_t task = *running_;
    const bool infers = tasks_[task].kind == Kind::infer;
    // An inference minibatch has the requests that there were.
    const std::int32_t count =
        infers ? static_cast<std::int32_t>(server_->count()) : workloads_[task].batch_size();
    const TrueCost cost = infers ? cost_of_requests(task, count) : cost_of(task);
    workloads_[task].set_pace(now_, pace_of(task, cost, cost.minibatch_ms));
    power_w_ = cost.power_w;
    if (effects_.quantised) {
      rails_ = scaled(costs(task).rails(knobs_.mode(), count), 1000 * power_w_);
    }
  }
  if (!effects_.quantised) rails_ = one_rail(power_w_);
  if (lag_) lag_->change(now_, rails_);
}

// No batches are prefetched: a command is followed by the next minibatch that begins.
bool Plant::follow_commands(EventBuffer& events) {
  const std::size_t before = events.size();
  for (SimulatedWorkload& workload : workloads_) workload.follow_at_once(now_, events);
  return events.size() > before;
}

void Plant::begin_turn() {
  const Turn turn = server_->choose(now_, times_of_now());
  if (turn == Turn::wait) return;
  running_ = task_of_[index(turn == Turn::train ? Kind::train : Kind::infer)];
  renew();
}

void Plant::end_turn(EventBuffer& events) {
  SimulatedWorkload& workload = workloads_[*running_];
  const bool trained = workload.hello().kind == Kind::train;
  workload.finish_alone(
      trained ? workload.batch_size() : static_cast<std::int32_t>(server_->count()), events);
  running_.reset();
  server_->end(now_, trained ? Turn::train : Turn::infer);
  renew();
}

Time Plant::advance_requests(Time until, EventBuffer& events) {
  const std::size_t most = events.size() + kMaxEventsPerTick;
  while (events.size() < most) {
    if (!running_) {
      if (follow_commands(events)) {
        renew();
        return now_;
      }
      if (server_->wake() <= now_) begin_turn();
    }
    const Time change = next_change();
    const Time report = server_->report_due();
    const Time turn = running_ ? workloads_[*running_].due() : server_->wake();
    const Time next = std::min({change, report, turn});
    if (next > until) {
      now_ = std::max(now_, until);
      return now_;
    }
    now_ = std::max(now_, next);
    if (next == change) renew();
    if (running_ && turn <= now_) end_turn(events);
    if (report > now_) continue;
    const std::size_t before = events.size();
    const std::size_t infer = *task_of_[index(Kind::infer)];
    server_->report(now_, turn_end(), workloads_[infer].set_sequence(), events);
    if (events.size() > before) return now_;
  }
  return now_;
}

}  // namespace gearshift

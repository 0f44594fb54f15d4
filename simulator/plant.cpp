#include "simulator/plant.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "simulator/noise.h"
#include "simulator/rail_sample.h"

namespace gearshift {
namespace {

Workload hello_of(const SimulatedTask& task, WorkloadHandle handle) {
  Workload hello;
  hello.handle = handle;
  hello.kind = task.kind;
  hello.managed = true;
  hello.batch_size = task.batch_size;
  const std::size_t count = std::min(task.batch_sizes.size(), kMaxBatchSizes);
  std::copy_n(task.batch_sizes.begin(), count, hello.batch_sizes.begin());
  hello.batch_size_count = static_cast<std::uint8_t>(count);
  hello.samples_per_epoch = task.samples_per_epoch;
  hello.latency = task.latency;
  hello.name = BoundedText<64>(task.name);
  return hello;
}

}  // namespace

const CostSource& SimulatedTask::costs_at(Time now) const {
  const CostSource* found = costs;
  for (const CostChange& change : changes) {
    if (change.begin <= now && now < change.end) found = change.costs;
  }
  return *found;
}

Plant::Plant(const KnobSpace& knobs, const PowerMode& first, std::span<const SimulatedTask> tasks,
             const Effects& effects, std::uint64_t seed, Sharing sharing)
    : tasks_(tasks.begin(), tasks.end()),
      effects_(effects),
      seed_(seed),
      sharing_(sharing),
      knobs_(knobs, first, effects, seed, [this](const PowerMode& mode) { return exists(mode); }) {
  assert(!tasks_.empty() && tasks_.size() <= kKinds);
  workloads_.reserve(tasks_.size());
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    workloads_.emplace_back(hello_of(tasks_[i], static_cast<WorkloadHandle>(i + 1)));
  }
  if (const auto knob = knobs.find("cpu_mhz")) {
    highest_cpu_ = static_cast<double>(knobs.knobs[*knob].values.back());
  }
  if (effects_.lag) lag_.emplace(*effects_.lag, effects_.lag_constant);
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    task_of_[index(tasks_[i].kind)] = i;
    if (tasks_[i].kind != Kind::infer || !tasks_[i].arrivals) continue;
    server_.emplace(*tasks_[i].arrivals, tasks_[i].latency, seed_, workloads_[i].hello().handle);
  }
}

bool Plant::exists(const PowerMode& mode) const {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!costs(i).cost(mode, workloads_[i].wanted_batch_size())) return false;
  }
  return true;
}

TrueCost Plant::cost_of(std::size_t task) const {
  const CostSource& source = costs(task);
  const std::int32_t batch_size = workloads_[task].batch_size();
  const auto cost = source.cost(knobs_.mode(), batch_size);
  return cost ? *cost : source.passing(knobs_.mode(), batch_size);
}

Pace Plant::pace_of(std::size_t task, const TrueCost& cost, double all_ms) const {
  const PowerMode& mode = knobs_.mode();
  Pace pace;
  pace.minibatch_ns = cost.minibatch_ms * kNsInMs;
  pace.others_ns = (all_ms - cost.minibatch_ms) * kNsInMs;
  pace.tells_others = sharing_ == Sharing::turns;
  pace.fetch_stall_ns = cost.fetch_stall_ms * kNsInMs;
  pace.gpu_ns = cost.gpu_ms * kNsInMs;
  pace.jitter = mode == knobs_.space().highest() ? effects_.highest_jitter : effects_.jitter;
  pace.stall_ns = static_cast<double>(effects_.stall.count());
  pace.stall_interval_ns = static_cast<double>(effects_.stall_interval.count());
  if (effects_.first_minibatch > Duration::zero()) {
    double slower = 1;
    if (const auto knob = knobs_.space().find("cpu_mhz")) {
      slower = highest_cpu_ / static_cast<double>(mode.values[*knob]);
    }
    pace.first_ns = std::min(static_cast<double>(effects_.first_minibatch.count()) * slower,
                             static_cast<double>(effects_.first_minibatch_most.count()));
  }
  Setting setting{.mode = mode};
  setting.batch_size[index(tasks_[task].kind)] = workloads_[task].batch_size();
  pace.noise_seed = seed_ ^ mixed(hash(setting));
  return pace;
}

void Plant::renew() {
  stale_ = false;
  add_up();
  if (server_) {
    renew_turn();
    return;
  }
  std::array<TrueCost, kKinds> each;
  double all_ms = 0;
  double all_mj = 0;
  double most_w = 0;
  for (std::size_t i = 0; i < workloads_.size(); ++i) {
    if (!workloads_[i].runs()) continue;
    each[i] = cost_of(i);
    most_w = std::max(most_w, each[i].power_w);
    all_ms += each[i].minibatch_ms;
    all_mj += each[i].minibatch_ms * each[i].power_w;
  }
  for (std::size_t i = 0; i < workloads_.size(); ++i) {
    if (workloads_[i].runs()) workloads_[i].set_pace(now_, pace_of(i, each[i], all_ms));
  }
  power_w_ = all_ms > 0 ? all_mj / all_ms : costs(0).idle_power_w(knobs_.mode());
  if (all_ms > 0 && sharing_ == Sharing::interleaved) power_w_ = most_w;
  rails_ = rails(each, all_ms);
  if (lag_) lag_->change(now_, rails_);
}

// Only a sensor that reads rail by rail asks how the power is spread over them.
RailPower Plant::rails(const std::array<TrueCost, kKinds>& each, double all_ms) const {
  if (!effects_.quantised) return one_rail(power_w_);
  if (all_ms <= 0) return costs(0).rails(knobs_.mode(), std::nullopt);
  RailPower mean;
  double most_w = 0;
  for (std::size_t i = 0; i < workloads_.size(); ++i) {
    if (!workloads_[i].runs()) continue;
    const RailPower power = costs(i).rails(knobs_.mode(), workloads_[i].batch_size());
    if (sharing_ == Sharing::interleaved) {
      if (each[i].power_w > most_w) mean = power;
      most_w = std::max(most_w, each[i].power_w);
      continue;
    }
    const double share = each[i].minibatch_ms / all_ms;
    for (std::size_t rail = 0; rail < kRails; ++rail) mean.mw[rail] += share * power.mw[rail];
  }
  return mean;
}

void Plant::add_up() {
  const double span_s = seconds(now_ - added_up_);
  if (supply_) supply_->advance(added_up_, now_, power_w_);
  if (enclosure_) {
    const bool slowed = enclosure_->slows();
    enclosure_->advance(span_s, power_w_);
    stale_ = stale_ || enclosure_->slows() != slowed;
  }
  added_up_ = now_;
  account_.energy_j += power_w_ * span_s;
  if (!server_) {
    hold_against_cap(power_w_ * span_s, span_s);
    return;
  }
  // What runs changes faster than a cap is meant: the mean of a window is held against it.
  window_j_ += power_w_ * span_s;
  window_s_ += span_s;
  sensed_s_ += span_s;
  for (std::size_t rail = 0; rail < kRails; ++rail) sensed_mj_.mw[rail] += rails_.mw[rail] * span_s;
  if (window_s_ >= seconds(effects_.noise_interval)) end_window();
}

// One that is cut short may be one minibatch alone: over the cap it is where it would also be with
// the time that it lacks spent as the window before it was.
void Plant::end_window() {
  if (window_s_ <= 0) return;
  double energy_j = window_j_;
  const double lacks_s = seconds(effects_.noise_interval) - window_s_;
  if (lacks_s > 0 && window_before_w_) {
    const double mean_w =
        (window_j_ + *window_before_w_ * lacks_s) / seconds(effects_.noise_interval);
    energy_j = std::min(energy_j, mean_w * window_s_);
    window_before_w_ = mean_w;
  } else {
    window_before_w_ = window_j_ / window_s_;
  }
  hold_against_cap(energy_j, window_s_);
  window_j_ = window_s_ = 0;
}

void Plant::hold_against_cap(double energy_j, double span_s) {
  const double mean_w = span_s > 0 ? energy_j / span_s : power_w_;
  const double over_w = mean_w - static_cast<double>(cap_mw_) / 1000;
  if (cap_mw_ <= 0 || over_w <= 0) {
    if (span_s > 0) over_since_s_ = 0;
    return;
  }
  account_.over_cap_j += over_w * span_s;
  account_.over_cap_s += span_s;
  if (over_since_s_ == 0 && span_s > 0) ++account_.breaches;
  over_since_s_ += span_s;
  account_.longest_over_cap_s = std::max(account_.longest_over_cap_s, over_since_s_);
}

// What the profile has no cell for is refused, unless the board has refused its mode already; to
// wait needs none.
void Plant::answer_commands(EventBuffer& events) {
  commanded_ = false;
  for (std::size_t i = 0; i < workloads_.size(); ++i) {
    SimulatedWorkload& workload = workloads_[i];
    if (!workload.take_new_command()) continue;
    const std::int32_t batch_size = workload.wanted_batch_size();
    const PowerMode& mode = knobs_.mode();
    if (workload.wanted_to_run() && knobs_.space().contains(mode) &&
        !costs(i).cost(mode, batch_size)) {
      events.push_back(workload.refuse("the profile has no cell for a batch of " +
                                       std::to_string(batch_size) + " in this mode"));
      continue;
    }
    const bool ran = workload.runs();
    workload.follow_if_waiting(now_, events);
    stale_ = stale_ || workload.runs() != ran;
  }
}

// The next time at which a workload's costs become others; Time::max() where none is left.
Time Plant::next_change() const {
  Time next = Time::max();
  if (const auto switch_s = enclosure_ ? enclosure_->next_switch_s(power_w_) : std::nullopt) {
    // Rounded up, so that it is met.
    const Duration later(static_cast<std::int64_t>(std::min(1e18, std::ceil(1e9 * *switch_s))));
    next = std::max(now_, added_up_ + later);
  }
  for (const SimulatedTask& task : tasks_) {
    for (const CostChange& change : task.changes) {
      for (const Time time : {change.begin, change.end}) {
        if (time > now_) next = std::min(next, time);
      }
    }
  }
  return next;
}

Time Plant::advance(Time until, EventBuffer& events) {
  const std::size_t first = events.size();
  if (commanded_) answer_commands(events);
  renew_if_stale();
  if (events.size() > first) return now_;
  if (server_) return advance_requests(until, events);
  const std::size_t most = first + kMaxEventsPerTick;
  while (events.size() < most) {
    SimulatedWorkload* next = &workloads_.front();
    for (SimulatedWorkload& workload : workloads_) {
      if (workload.due() < next->due()) next = &workload;
    }
    const Time change = next_change();
    if (change <= until && change <= next->due()) {
      now_ = change;
      renew();
      continue;
    }
    if (next->due() > until) {
      now_ = std::max(now_, until);
      return now_;
    }
    now_ = next->due();
    if (!next->finish(events)) continue;
    renew();
    return now_;
  }
  return now_;
}

Progress Plant::write(std::size_t knob, std::int64_t value) {
  stale_ = true;
  return knobs_.write(knob, value);
}

std::int64_t Plant::read(std::size_t knob) {
  const PowerMode before = knobs_.mode();
  const std::int64_t value = knobs_.read(knob);
  stale_ = stale_ || knobs_.mode() != before;
  return value;
}

void Plant::restore() {
  stale_ = true;
  knobs_.restore();
}

void Plant::command(WorkloadHandle workload, const WorkloadCommand& command) {
  if (workload == 0 || workload > workloads_.size()) return;
  workloads_[workload - 1U].command(command);
  commanded_ = true;
}

double Plant::true_power_w() {
  renew_if_stale();
  return power_w_;
}

std::int64_t Plant::sensed_power_mw() {
  renew_if_stale();
  RailPower power = lag_ ? lag_->value(now_) : rails_;
  if (server_) {
    add_up();
    // Without a lag it shows the mean since it was last read, not what happens to run.
    for (std::size_t rail = 0; rail < kRails && !lag_ && sensed_s_ > 0; ++rail) {
      power.mw[rail] = sensed_mj_.mw[rail] / sensed_s_;
    }
    sensed_mj_ = {};
    sensed_s_ = 0;
  }
  if (effects_.sensor_noise > 0) {
    const auto interval =
        static_cast<std::uint64_t>(now_.time_since_epoch() / effects_.noise_interval);
    const double factor =
        std::max(0.0, 1 + effects_.sensor_noise * normal_noise(seed_, Stream::power, interval));
    for (double& mw : power.mw) mw *= factor;
  }
  return effects_.quantised ? sampled_total_mw(power) : std::llround(power.total_mw());
}

void Plant::set_cap_mw(std::int64_t cap_mw) {
  if (cap_mw == cap_mw_) return;
  renew_if_stale();
  add_up();
  end_window();  // what was drawn under the cap before is judged by that one
  cap_mw_ = cap_mw;
}

const Supply* Plant::supply() {
  renew_if_stale();
  add_up();
  return supply_ ? &*supply_ : nullptr;
}

void Plant::house_in(const EnclosureSpec& spec) {
  enclosure_.emplace(spec);
  for (const SimulatedTask& task : tasks_) {
    slowed_.emplace_back(*task.costs, knobs_.space(), spec.slowed);
  }
}

const Enclosure* Plant::enclosure() {
  renew_if_stale();
  add_up();
  return enclosure_ ? &*enclosure_ : nullptr;
}

double Plant::energy_j() {
  renew_if_stale();
  add_up();
  return account_.energy_j;
}

EnergyAccount Plant::account() {
  renew_if_stale();
  add_up();
  end_window();
  return account_;
}

}  // namespace gearshift

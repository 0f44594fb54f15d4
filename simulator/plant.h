// A simulated board and what runs on it, in virtual time: the one truth behind its sensor, its
// knobs and its workloads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "controller/clock.h"
#include "controller/world.h"
#include "simulator/cost_source.h"
#include "simulator/effects.h"
#include "simulator/enclosure.h"
#include "simulator/request_server.h"
#include "simulator/sensor_lag.h"
#include "simulator/simulated_knobs.h"
#include "simulator/simulated_workload.h"
#include "simulator/supply.h"
#include "simulator/throttled_costs.h"

namespace gearshift {

// From `begin` until before `end` a workload costs what `costs` says.
struct CostChange {
  Time begin{};
  Time end = Time::max();
  const CostSource* costs = nullptr;  // outlives the simulation
};

// One workload of a simulation. At most one a kind.
struct SimulatedTask {
  std::string name;
  Kind kind = Kind::train;
  std::vector<std::int32_t> batch_sizes;  // allowed, samples, lowest first; kMaxBatchSizes at most
  std::int32_t batch_size = 0;            // at the beginning, one of them
  std::int64_t samples_per_epoch = 0;     // 0: it does not say
  const CostSource* costs = nullptr;      // outlives the simulation
  // Of an inference workload: its requests, one by one, instead of a minibatch whenever it is free.
  std::optional<ArrivalSpec> arrivals{};
  Duration latency{};                 // that it promises them; 0: it does not say
  std::vector<CostChange> changes{};  // nobody is told of them; the last that is on counts

  const CostSource& costs_at(Time now) const;
};

// What the true power added up to.
struct EnergyAccount {
  double energy_j = 0;
  double over_cap_j = 0;
  double over_cap_s = 0;
  double longest_over_cap_s = 0;  // without a break
  std::uint32_t breaches = 0;     // how often it went over
};

// How two workloads share the board. Either way each minibatch waits for one of the other.
enum class Sharing : std::uint8_t {
  turns,  // elapsed times hold the wait; power is the mean weighted with the times
  // One process owns both: elapsed times are pure service times, and power is the higher of the
  // two, as the concurrent problem defines it.
  interleaved,
};

// Where an inference workload has arrivals, one process owns both and requests come one by one: the
// rule of controller/interleaving.h says what runs next, minibatches report their own
// times alone, power is that of what runs, and what became of requests is told in events.
class Plant : public Clock {
 public:
  // The board begins in the mode `first`, with all tasks at work.
  Plant(const KnobSpace& knobs, const PowerMode& first, std::span<const SimulatedTask> tasks,
        const Effects& effects, std::uint64_t seed, Sharing sharing = Sharing::turns);

  Time now() const override { return now_; }
  // Appends what happens until then and returns the time now: `until`, or earlier after an answer
  // to a command, or with kMaxEventsPerTick events.
  Time advance(Time until, EventBuffer& events);

  // See Actuator and World.
  const KnobSpace& knobs() const { return knobs_.space(); }
  Progress write(std::size_t knob, std::int64_t value);
  std::int64_t read(std::size_t knob);
  void restore();
  void command(WorkloadHandle workload, const WorkloadCommand& command);

  const PowerMode& mode() const { return knobs_.mode(); }
  const std::vector<SimulatedWorkload>& workloads() const { return workloads_; }
  double true_power_w();
  // As the board's sensor shows it now.
  std::int64_t sensed_power_mw();
  // The cap that true power is held against from now on; 0: none.
  void set_cap_mw(std::int64_t cap_mw);
  // True energy so far, J.
  double energy_j();
  // As of now: beside requests it ends the window whose mean is held against the cap.
  EnergyAccount account();
  // The board runs on it from now on; before time moves.
  void power_by(const SupplySpec& spec) { supply_.emplace(spec); }
  // As of now; null where the board hangs on the mains.
  const Supply* supply();
  // It becomes hot from now on, and slow where it is too hot; before time moves. The tasks' costs
  // must not change then.
  void house_in(const EnclosureSpec& spec);
  // As of now; null where heat is left out.
  const Enclosure* enclosure();
  // What became of the requests, where they come one by one.
  std::optional<RequestFigures> requests() const {
    return server_ ? std::optional(server_->figures()) : std::nullopt;
  }

 private:
  // The pace of each workload and the power follow the knobs and batch sizes of now.
  void renew();
  void renew_if_stale() {
    if (stale_) renew();
  }
  const CostSource& costs(std::size_t task) const {
    if (enclosure_ && enclosure_->slows()) return slowed_[task];
    return tasks_[task].costs_at(now_);
  }
  Time next_change() const;
  TrueCost cost_of(std::size_t task) const;
  Pace pace_of(std::size_t task, const TrueCost& cost, double all_ms) const;
  // What the sensor sees of the power of now.
  RailPower rails(const std::array<TrueCost, kKinds>& each, double all_ms) const;
  bool exists(const PowerMode& mode) const;
  void answer_commands(EventBuffer& events);
  void add_up();
  void end_window();
  void hold_against_cap(double energy_j, double span_s);

  // Beside requests; plant_requests.cpp.
  Time advance_requests(Time until, EventBuffer& events);
  bool follow_commands(EventBuffer& events);
  InterleavingState times_of_now() const;
  Duration long_minibatch(std::size_t task) const;
  void begin_turn();
  void end_turn(EventBuffer& events);
  void renew_turn();
  TrueCost cost_of_requests(std::size_t task, std::int32_t count) const;
  Time turn_end() const { return running_ ? workloads_[*running_].due() : now_; }

  const std::vector<SimulatedTask> tasks_;
  const Effects effects_;
  const std::uint64_t seed_;
  const Sharing sharing_;
  SimulatedKnobs knobs_;
  std::vector<SimulatedWorkload> workloads_;  // indexed like tasks_; handle = index + 1
  Time now_{};
  bool stale_ = true;
  bool commanded_ = false;
  double highest_cpu_ = 0;  // of the CPU clock, kHz; 0 where there is none
  double power_w_ = 0;
  RailPower rails_;
  Time added_up_{};
  double over_since_s_ = 0;
  std::int64_t cap_mw_ = 0;
  EnergyAccount account_;
  std::optional<SensorLag> lag_;
  std::optional<Supply> supply_;
  std::optional<Enclosure> enclosure_;
  std::vector<ThrottledCosts> slowed_;  // indexed like tasks_

  // Where requests come one by one.
  std::optional<RequestServer> server_;
  std::array<std::optional<std::size_t>, kKinds> task_of_{};
  std::optional<std::size_t> running_;  // the task whose minibatch is under way
  double window_j_ = 0;                 // of true power since it was last held against the cap
  double window_s_ = 0;
  std::optional<double> window_before_w_;  // mean of the window before
  RailPower sensed_mj_;                    // since the sensor was read
  double sensed_s_ = 0;
};

}  // namespace gearshift

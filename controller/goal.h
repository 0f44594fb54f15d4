// What the user wants: an objective and the limits it must be reached within.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/clock.h"

namespace gearshift {

enum class Objective : std::uint8_t {
  time,      // least time a sample
  energy,    // least energy a sample
  latency,   // least latency of a request to the inference workload: batch / rate + minibatch time
  weighted,  // least cost a sample: w energy / reference energy + (1 - w) time / reference time
  target,    // least cost of training to a target metric: w energy + (1 - w) priced power * time, J
  throughput,  // most training beside an inference workload that answers in time
};
inline constexpr std::array kObjectives = {Objective::time,    Objective::energy,
                                           Objective::latency, Objective::weighted,
                                           Objective::target,  Objective::throughput};
constexpr std::string_view objective_name(Objective objective) {
  return objective == Objective::time       ? "time"
         : objective == Objective::energy   ? "energy"
         : objective == Objective::latency  ? "latency"
         : objective == Objective::weighted ? "weighted"
         : objective == Objective::target   ? "target"
                                            : "throughput";
}

// What a setting is worth whose batches of requests are not full in time, of one whose are: their
// requests wait until they are nearly late, which a little more training is not worth.
inline constexpr double kWorthNotFull = 0.97;

// Of the time: requests that come by chance queue up behind more inference than that.
inline constexpr double kMostBusy = 0.85;

// An absent limit binds nothing.
struct Goal {
  Objective objective = Objective::time;
  std::optional<std::int64_t> power_mw{};  // mean board power over the board's power window
  std::optional<Duration> latency{};       // of a request that waits for its batch to fill
  double arrivals_per_s = 0;               // requests; 0: unknown, and latency is not judged
  // throughput: requests come one by one, as a server reports them, and training has all the time
  // that inference leaves over. Else they come like clockwork, and only whole training minibatches
  // between two of inference count.
  bool one_by_one = false;
  double energy_weight = 0.5;        // weighted and target: 0 counts time alone, 1 energy alone
  double reference_s = 0;            // weighted: a sample's time in the highest setting, s
  double reference_j = 0;            // weighted: its energy there, J; 0: not measured yet
  std::int64_t priced_power_mw = 0;  // target: what a second costs, the most the device draws
  std::optional<double> energy_j{};  // of a sample, at most

  // What time objectives, energy and their mixtures minimise, of a sample or of an epoch that takes
  // `time_s` seconds and `joules`: in seconds for time, joules for energy and target, of
  // no unit for weighted; throughput and latency count time, as where no inference runs or no rate
  // of its requests is known. Infinity where a reference is needed and unknown.
  // docs/objectives.md has the formulas.
  double cost(double time_s, double joules) const;

  // For how many seconds mean board power counts as a request's, of a server that runs alone and
  // takes `sample_s` for one: until the next one comes where they come one by one, as the board
  // draws power in the pauses between batches too.
  double drawn_s(double sample_s) const {
    const bool pauses = one_by_one && arrivals_per_s > 0;
    return pauses ? std::max(sample_s, 1 / arrivals_per_s) : sample_s;
  }

  // Share of the time, at most, that a server which runs alone may be busy. Least energy is that of
  // the slowest settings which keep up, behind which requests that come by chance would queue up.
  double most_busy() const {
    const bool saves = objective == Objective::energy || weighs();
    return one_by_one && saves ? kMostBusy : 1;
  }

  // Whether the objective has an energy weight.
  bool weighs() const { return objective == Objective::weighted || objective == Objective::target; }
  bool has_reference() const { return reference_s > 0 && reference_j > 0; }

  friend bool operator==(const Goal&, const Goal&) = default;
};

// What an operator changes of the goal of a run; what is absent stays as it is.
struct GoalChange {
  std::optional<Objective> objective{};
  std::optional<double> energy_weight{};  // 0 to 1

  friend bool operator==(const GoalChange&, const GoalChange&) = default;
};

// "weighted, energy weight 0.75"
std::string describe(const Goal& goal);

Goal changed(Goal goal, const GoalChange& change);

// The goal beside another server, or none: what is known of requests was another one's, so it is
// what was asked for. Where that names no latency it is the server's own; zero: it has none.
Goal beside_server(Goal goal, const Goal& asked, Duration latency);

// Why the goal cannot be reached whatever is measured: an objective that lacks the number it needs.
// Empty where it can.
std::string_view objection(const Goal& goal);
// Why the goal cannot be changed so; empty where it can.
std::string_view objection(const Goal& goal, const GoalChange& change);

}  // namespace gearshift

// What the user wants: an objective and the limits it must be reached within.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/clock.h"
#include "controller/setting.h"

namespace gearshift {

enum class Objective : std::uint8_t {
  time,      // least time a sample
  energy,    // least energy a sample
  latency,   // least latency of a request to the inference workload (Goal::counted_latency_s)
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
  double energy_weight = 0.5;         // weighted and target: 0 counts time alone, 1 energy alone
  double reference_s = 0;             // weighted: a sample's time in the highest setting, s
  double reference_j = 0;             // weighted: its energy there, J; 0: not measured yet
  std::int64_t priced_power_mw = 0;   // target: what a second costs, the most the device draws
  std::optional<double> energy_j{};   // of a sample, at most
  bool objective_by_default = false;  // nobody gave one: with_default_objective() says which holds

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

  // The same of either kind: a training sample draws it for as long as it takes.
  double drawn_s(Kind kind, double sample_s) const {
    return kind == Kind::infer ? drawn_s(sample_s) : sample_s;
  }

  // Share of the time, at most, that a server which runs alone may be busy. Least energy is that of
  // the slowest settings which keep up, behind which requests that come by chance would queue up.
  double most_busy() const {
    const bool saves = objective == Objective::energy || weighs();
    return one_by_one && saves ? kMostBusy : 1;
  }

  // Whether requests are answered in time by minibatches of `batch_size` that take `minibatch_s`
  // seconds: behind a full batch, or, one by one, behind half of one within nine tenths of the
  // limit (planned_latency). True where there is no limit, or no rate is known.
  bool answers_in_time(double batch_size, double minibatch_s) const;
  // Whether a workload of the kind that runs alone does what its requests ask for: it is busy for
  // no more than most_busy() of the time that its batches take to come, and answers in time. True
  // of training, and where no rate is known.
  bool keeps_pace(Kind kind, double batch_size, double minibatch_s) const;
  // Whether a sample takes no more energy than the goal allows, at `power_w` watts of mean board
  // power.
  bool keeps_energy(Kind kind, double batch_size, double minibatch_s, double power_w) const;
  // Both: as Observation::keeps has it of a measurement, without the power cap.
  bool keeps_limits(Kind kind, double batch_size, double minibatch_s, double power_w) const;
  // What the latency objective counts, in seconds, of a server whose batches take `minibatch_s`
  // seconds, at a known rate: batch / rate + minibatch time. One by one, the mean latency of
  // requests that come by chance: a request waits until half of the others in its batch have come,
  // behind batches that are not done yet (J. F. C. Kingman, "The single server queue in heavy
  // traffic", 1961, of batches that come as every b-th of Poisson arrivals does and all take as
  // long), and for its minibatch. Rises with minibatch_s, also past where batches come faster than
  // they are done.
  double counted_latency_s(double batch_size, double minibatch_s) const;
  // What the goal minimises of a workload that runs alone, as Observation::value tells it of a
  // measurement: the latency of a request in seconds, or cost() of a sample.
  double value(Kind kind, double batch_size, double minibatch_s, double power_w) const;

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

// Said behind throughput, where nobody gave an objective.
inline constexpr std::string_view kDefaultBesideRequests = ", the default beside requests";

// "weighted, energy weight 0.75", "throughput, the default beside requests"
std::string describe(const Goal& goal);

Goal changed(Goal goal, const GoalChange& change);

// The goal beside another server, or none: what is known of requests was another one's, so it is
// what was asked for. Where that names no latency it is the server's own; zero: it has none.
Goal beside_server(Goal goal, const Goal& asked, Duration latency);

// The goal where nobody gave an objective: time, and where training runs beside requests whose rate
// and latency limit are known, throughput: least time leaves the batches of requests as they are,
// and what serves none of them in time trains nothing. One that somebody gave stays.
Goal with_default_objective(Goal goal, bool trains_and_serves);

// Why the goal cannot be reached whatever is measured: an objective that lacks the number it needs.
// Empty where it can.
std::string_view objection(const Goal& goal);
// Why the goal cannot be changed so; empty where it can.
std::string_view objection(const Goal& goal, const GoalChange& change);

}  // namespace gearshift

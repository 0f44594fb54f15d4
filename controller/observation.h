// What a setting was measured to cost, or why it has no cost.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "controller/clock.h"
#include "controller/goal.h"
#include "controller/setting.h"

namespace gearshift {

enum class Outcome : std::uint8_t {
  complete,          // a stable measurement
  over_limit,        // cut short by the guard: windowed power went over the cap
  refused,           // the board or the workload refused it
  not_applied,       // written, but the board reads back something else
  timed_out,         // not applied within the board's time
  stalled,           // no minibatch arrived in the measurement's time
  outside_writer,    // something else moved a knob during the measurement
  goal_changed,      // cut short because the goal changed
  workload_changed,  // the workload left, or another one came
  power_unknown,     // power readings missing, stale or absurd
  late,              // cut short: requests were late, or their batch is never full in time
};
inline constexpr std::uint8_t kOutcomes = static_cast<std::uint8_t>(Outcome::late) + 1;
std::string_view outcome_name(Outcome outcome);                   // the `reason` scripts see
std::optional<Outcome> outcome_from_word(std::string_view word);  // nullopt: no outcome's name

// Service time of one kind of workload under a setting. All zero where the kind did not run.
struct Cost {
  Duration minibatch_mean{};
  Duration minibatch_stddev{};
  Duration minibatch_p99{};
  Duration fetch_stall_mean{};
  Duration compute_mean{};
  std::uint32_t minibatches = 0;  // that the mean was taken over
};

// Where a run of a recurring job stands after the epoch; docs/evaluation/learning.md says
// what such a job is.
enum class JobState : std::uint8_t {
  none,     // the workload is no recurring job
  running,  // and goes on with the next epoch
  reached,  // the target metric: the job is done until it recurs
  missed,   // the target in the most epochs; the job begins anew
  stopped,  // it cost too much; the job begins anew
};
constexpr std::string_view job_state_name(JobState state) {
  return state == JobState::none      ? "none"
         : state == JobState::running ? "running"
         : state == JobState::reached ? "reached"
         : state == JobState::missed  ? "missed"
                                      : "stopped";
}

struct JobProgress {
  JobState state = JobState::none;
  std::uint32_t epochs = 0;  // of this run so far, the one that was measured included
  Duration epoch{};          // how long that one took
};

struct Observation {
  Setting setting;
  Outcome outcome = Outcome::complete;
  bool from_memory = false;  // answered without measuring again
  bool power_is_estimate = false;
  std::int64_t power_mean_mw = 0;
  std::int64_t power_max_mw = 0;
  std::int64_t power_margin_mw = 0;  // noise margin of the window mean: 3 standard deviations
  // The cap it was measured under; 0: none. Where a cap that leaves the lowest mode only ended it,
  // the highest cap that it is known to be over.
  std::int64_t limit_mw = 0;
  std::array<Cost, kKinds> cost{};  // of a complete one; what was seen before a late one was cut
  JobProgress job{};
  Duration duration{};    // from the first write to the answer
  double confidence = 0;  // relative half-width of the 95 % interval of the minibatch time

  // The rate of arrivals at which requests were late whatever the times say; 0: none was.
  double late_per_s = 0;

  bool ok() const { return outcome == Outcome::complete; }
  // True where it has no cost for a reason that says nothing of what the setting costs, and that
  // may be gone another time.
  bool failed() const {
    return outcome == Outcome::refused || outcome == Outcome::not_applied ||
           outcome == Outcome::timed_out || outcome == Outcome::stalled ||
           outcome == Outcome::outside_writer;
  }
  // True where requests that arrive so fast, or nearly, were late.
  bool known_late(double arrivals_per_s) const {
    return late_per_s > 0 && arrivals_per_s >= 0.95 * late_per_s;
  }
  // Whether it still tells what its setting costs. What a limit cut short does so only while the
  // cap is no looser than it was then, and about as many requests arrive. cap_mw 0: no cap.
  bool answers(std::int64_t cap_mw, double arrivals_per_s) const {
    const bool looser = cap_mw <= 0 || cap_mw > limit_mw;
    if (outcome == Outcome::over_limit && looser) return false;
    return outcome != Outcome::late || known_late(arrivals_per_s);
  }
  // True when mean power plus the noise margin is within the cap.
  bool within(std::int64_t cap_mw) const {
    return ok() && (cap_mw <= 0 || power_mean_mw + power_margin_mw <= cap_mw);
  }
  // Latency of a request in seconds: it waits until its batch is full, then for the minibatch.
  // Infinity unless ok and inference ran.
  double latency_s(double arrivals_per_s) const;
  // True when every limit of the goal is kept: power as within() judges it, no requests known to be
  // late, and the three below.
  bool keeps(const Goal& goal) const;
  // Energy of a sample is within the goal's limit, where it has one.
  bool keeps_energy(const Goal& goal) const;
  // With a known arrival rate: inference keeps up, as a minibatch takes no longer than its batch
  // takes to arrive, or, alone, than Goal::most_busy() of that, as Goal::keeps_pace. False where
  // it waits for training; true where no inference is managed, or none was due.
  bool keeps_up(const Goal& goal) const;
  // With a known arrival rate: latency is within the goal's limit, where it has one, as
  // Goal::answers_in_time. True where inference did not run.
  bool answers_in_time(const Goal& goal) const;
  // A workload of the kind is managed, and waits while the other one runs.
  bool waits(Kind kind) const {
    return setting.batch_size[index(kind)] > 0 && !runs(setting.run, kind);
  }
  // The kind that a goal counts: train where it was measured.
  Kind counted() const {
    return cost[index(Kind::train)].minibatches > 0 ? Kind::train : Kind::infer;
  }
  // The kind whose energy the goal counts: counted(), but inference where the latency of requests
  // is to be least and their rate is known, beside training too.
  Kind energy_kind(const Goal& goal) const;
  // Time of a sample of the kind, in seconds; infinity unless ok and the kind ran.
  double sample_s(Kind kind) const;
  // Energy of a sample of the kind, in joules: mean board power times sample_s. Of a server that
  // pauses between batches it is a part of what a request takes; energy_j() has all of it.
  double sample_j(Kind kind) const;
  // Energy of a sample of energy_kind(), in joules, as the goal has it: of requests that come one
  // by one, mean board power over their rate (Goal::drawn_s), what trains beside them included.
  // Infinity unless ok and the kind ran.
  double energy_j(const Goal& goal) const;
  // The same of each kind: as the goal has it of energy_kind(), sample_j() of the other.
  double energy_j(const Goal& goal, Kind kind) const {
    return kind == energy_kind(goal) ? energy_j(goal) : sample_j(kind);
  }
  // Seconds a training sample takes beside inference at the goal's rate of arrivals: as many whole
  // training minibatches as fit between two inference minibatches, batch / rate apart; of requests
  // that come one by one, training in all the time that inference leaves over, and a little more
  // where batches are not full in time (kWorthNotFull). Infinity where none fits: between them, or
  // beside batches that are half full on average (longest_beside_half_full); and unless ok and both
  // ran.
  double interleaved_sample_s(const Goal& goal) const;
  // What the goal minimises (Goal::cost) for the kind that counts: of a sample, or of the epoch of
  // a recurring job. Latency is inference's, where there is a server and the rate is known, else
  // time counts; throughput is training's beside inference, where both are managed and the rate is
  // known. Infinity, but of latency, where a trainer is managed and no training was measured.
  double value(const Goal& goal) const;
};
static_assert(std::is_trivially_copyable_v<Observation>);

}  // namespace gearshift

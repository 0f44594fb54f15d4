// The loop: asks a policy for a setting, applies it, measures what it costs, and never lets the
// board break its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/board.h"
#include "controller/cap_credit.h"
#include "controller/checkpoint.h"
#include "controller/cut_excuses.h"
#include "controller/drift.h"
#include "controller/duty_cycle.h"
#include "controller/guard.h"
#include "controller/ledger.h"
#include "controller/limit_source.h"
#include "controller/limit_sources.h"
#include "controller/memory.h"
#include "controller/meter.h"
#include "controller/other_batches.h"
#include "controller/outside_writes.h"
#include "controller/policy.h"
#include "controller/ration.h"
#include "controller/recorder.h"
#include "controller/reference_search.h"
#include "controller/relief.h"
#include "controller/roster.h"
#include "controller/second_chance.h"
#include "controller/serving.h"
#include "controller/summary.h"
#include "controller/world.h"

namespace gearshift {

struct ControllerOptions {
  Duration period = std::chrono::milliseconds(100);
  std::optional<Duration> duration;  // stops by itself after so long
  Goal goal;  // its power_mw is what the limit sources say, whatever stands here
  std::uint64_t seed = 1;
  std::span<const Profile* const> prior{};  // tables that the policy may read; outlive the loop
  MeterOptions meter;
  Duration workload_timeout = std::chrono::seconds(60);  // to answer a set command, at least
  // Of one run of the policy; then the best setting that was measured is held.
  std::uint32_t most_measurements = 5000;
  Duration goal_dwell = std::chrono::seconds(1);  // least time between two looser goals
  // To save work before power ends; then the workloads wait whether or not they have.
  Duration checkpoint_timeout = std::chrono::seconds(30);
};

class Controller {
 public:
  // Borrows everything. `limits` are asked in order; the least cap binds.
  Controller(World& world, Board& board, Policy& policy, Recorder& recorder,
             std::span<LimitSource* const> limits, ControllerOptions options);

  // Runs until a stop event or the end of `duration`. The board is left with the last setting:
  // what happens to the knobs is the caller's choice. Throws what World and Recorder throw.
  void run();
  const Summary& summary() const { return summary_; }
  const Ledger& ledger() const { return ledger_; }

 private:
  // What the setting that is being applied or is in force is for.
  enum class Aim : std::uint8_t { nothing, measure, hold, fallback, relief, safe };
  // What happens once power is back within the cap.
  // asked: the policy was resumed, and its request waits; or what it held before is held again.
  enum class Pending : std::uint8_t { nothing, resume, asked, restart };
  // What is known of the lowest mode under the cap.
  // fits: nothing says that it does not; over_with_larger: it is over the cap with larger batches
  // than are asked for, which run out; over: with those that are asked for, which was said once.
  enum class LowestMode : std::uint8_t { fits, over_with_larger, over };
  // A sensor with a first-order lag of 0.7 s, which publishes windows of 0.43 s, shows less than
  // 1 % of a step after so many of them.
  static constexpr int kLagWindows = 8;
  // A loop that takes longer from one tick to the next has stood still: it guarded nothing.
  static constexpr Duration kGap = std::chrono::seconds(2);
  // Measurements within which the test alarms or its suspicion goes.
  static constexpr std::uint32_t kMostProofs = 3;

  // controller.cpp: one tick, in this order. False: stop.
  bool tick(Time now, Time before);
  void tell_gap(Time before, Time now);
  void consume_readings();
  void add_to_baseload(Time now);
  bool consume(const Event& event, Time now);
  void on_attached(const Workload& workload, Time now);
  void act_on(std::int32_t pid, Kind kind, Time now);  // see Actuator::manage
  void on_detached(const Event& event, Time now);
  void include_all(Time now);
  void tell_wait(Time now);
  void keep_what_is_theirs();
  void on_minibatch(const Minibatch& minibatch);
  void reload_script(Time now);
  Phase phase() const;
  void publish(Time now);
  void drain_policy_log(Time now);
  void note(NoteType type, Time now, std::string_view text, std::int64_t value = 0);

  // limits.cpp: what holds whatever the policy says.
  void update_cap(Time now);
  void change_cap(std::optional<std::int64_t> cap, Time now);
  void tell_cap(Time now);
  void keep_what_fits(Time now);
  std::optional<std::int64_t> latency_floor_mw() const;
  void update_goal(Time now);
  void enforce(Time now);
  void on_over_cap(Time now);
  bool forgives(Time now);
  bool judge_cut(const Observation& cut, bool forgiven, Time now);
  bool early(Time now) const;
  bool may_be_before(std::int64_t power_mw, Time now) const;
  void forget_world(const DriftAlarm& alarm, Time now);
  void forget_beside_memory();
  void on_power_unknown(Time now);

  // fallback.cpp: what is taken where what is in force may not stay.
  void fall_back(Time now);
  void step_down(Time now);
  bool prefetched_are_over(const Setting& setting) const;
  void fall_far(Time now);
  void hold_nothing(std::string_view why, Time now);
  void hold_safe(std::string_view why, Time now);
  void tell_infeasible(std::int64_t power_mw, Time now);
  bool larger_batches_run() const;
  void judge_without_larger(Time now);
  bool known_over(const Setting& setting) const;
  const Observation* best_known() const;
  const Observation* best_without_spare_time() const;
  std::optional<Setting> most_serving_setting() const;
  Setting safe_setting() const;
  bool make_batches_smaller(Time now);

  const Observation* known(const Setting& setting) const;
  Goal exact_goal() const;

  // knob_moves.cpp: the knobs, and who else moves them.
  void tell_overwritten(Time now);
  bool follows_outside_write(Time now);
  void watch_knobs(Time now);
  void step_down_again(Time now);
  bool awaits_lighter_batches() const;
  bool awaits_rest() const;
  bool may_follow(Time now, Time since, int part = 1) const;
  bool lets_mode_go(Time now);
  void keep_mode();
  void begin_mode(Time now, Route route = Route::direct);
  ApplyState move_knobs(Time now);
  void rearm_limits(Time now);

  // ration.cpp: how much above the cap a search draws, and how often.
  void add_to_excess(Time now);
  void charge_hidden_excess(std::int64_t judged_mw, Time now);
  void await_steady_power(Time now);
  bool saves_up(Time now);
  void tell_rationed(std::string_view why, Time now);

  // pause.cpp: what happens where a limit leaves no power, or nobody could step down.
  void update_pause(Time now);
  void hold_paused(Time now);
  void halt(Time now);
  void end_halt(Time now);
  void let_run(const Setting& setting, Time now);
  void ask_to_save(Time now);
  void take_saved(const Event& event, Time now);
  void note_checkpoint(NoteType type, WorkloadHandle workload, std::string_view text, Time now);

  // duty.cpp: the workloads wait part of the time, where the lowest mode is over the cap.
  void update_duty(Verdict verdict, Time now);
  void wait_in_turn();
  void run_in_turn(Time now);
  void end_duty(Time now);
  bool may_serve_all() const;

  // latency.cpp: requests are answered in time.
  void meet_server(const Workload* server);
  void on_requests(const RequestReport& report, Time now);
  void update_arrivals(Time now);
  bool trainer_runs() const;
  bool trainer_waits() const;
  void enforce_latency(Time now);
  void on_late(Time now);
  void tell_late(bool blamed, Time now);
  Serving::Use use() const;
  void fall_with_cap(Time now);
  std::optional<Setting> serving_alone() const;

  // relief.cpp: what serves requests alone, where nothing that the policy found does.
  void relieve(double arrivals_per_s, Time now);
  std::size_t place() const;
  bool in_force_for_long(Time now) const;
  bool proves_relief(Time now) const;
  void prove_relief(Time now);
  bool cut_relief(std::int64_t power_mw, Time now);
  bool serves_less() const;
  const Setting* relieving_setting(double share) const;
  double slowness(const PowerMode& mode) const;
  const PowerMode* raised_mode(std::size_t at, std::size_t reach, std::size_t from,
                               std::size_t end) const;
  std::optional<Setting> raised_setting() const;

  // offered.cpp: batch sizes that a workload does not take up.
  void on_refused(const Event& event, Time now);
  bool withdraw_ignored(Time now);
  void offer_less(Outcome outcome, Time now);

  // second_chance.cpp: what failed may do so no more.
  bool await_reports(Outcome outcome, Time now);
  void arm_second_chance(Time now);
  void try_again(Time now);

  // objective.cpp: what is minimised.
  void change_goal(const GoalChange& change, Time now);
  void follow_default_objective(Time now);
  std::string nothing_found() const;
  bool needs_reference() const;
  void forget_reference();
  std::array<std::int32_t, kKinds> own_batches() const;  // as workloads attached with
  Goal policy_goal() const;
  bool lacks_requests() const;
  void tell_unserved_latency(Time now);
  Setting reference_setting(const ReferenceSearch::Place& place) const;
  bool drew_over_cap(const Setting& setting) const;
  ReferenceSearch remembered_search() const;
  bool outgrows_reference() const;
  bool seek_reference(Time now);
  void take_answer(const Observation& answer, Time now);

  // cut.cpp: measurements that end before their answer is known.
  void cut_measurement(Outcome outcome, Time now);
  void cut_by_cap(Time now);
  // What began in the setting that requests cut short, and ends in its mode, still tells its times.
  bool completes_cut() const;
  void complete_cut();

  // pending.cpp: a policy goes on whose measurement was cut, or starts over.
  void continue_pending(Time now);
  void handle_asked(bool late, Time now);
  bool nothing_serves(Time now) const;
  bool seeks_what_serves() const;
  bool none_is_known_to_serve() const;
  bool seek_proof(Time now);
  bool proved(Time now);

  // search.cpp: what the policy asks for.
  PolicyContext policy_context() const;
  void restart_policy(Time now);
  void handle(Request request, Time now);
  void apply(const Setting& setting, Aim aim, Time now);
  void advance(Time now);
  void on_settled(ApplyState state, Time now);
  void on_hold_failed(ApplyState state, Time now);
  void finish_measurement(Observation observation, Time now);
  void fail_policy(std::string_view what, Time now);
  void remember(const Observation& observation);
  void end_search(Time now);
  void hold(const Setting& setting, Time now);
  void record_hold(Time now);
  void keep_choice(const Setting& setting, const Observation* known,
                   const std::optional<Setting>& instead);
  void measure_hold(Time now);
  void finish_hold_measurement(Observation observation, Time now);
  void begin_meter(Time now);  // for what is in force
  bool measures_again(const Observation& observation, Time now);
  void keep_observation(const Observation& observation, Time now);
  void enter_new_world(const DriftAlarm& alarm, const Observation& repeat, Time now);
  bool measuring() const { return aim_ == Aim::measure; }
  bool metering() const {
    return settled_ && !halted_ && !duty_.active() && (measuring() || measuring_hold_);
  }

  World& world_;
  Board& board_;
  Policy& policy_;
  Recorder& recorder_;
  LimitSources sources_;
  ControllerOptions options_;

  Roster roster_;
  Memory memory_;
  Drift drift_;
  Meter meter_;
  std::optional<Meter> cut_meter_;  // as requests cut a measurement, and what came since
  Guard guard_;
  DutyCycle duty_;
  Ration ration_;
  OtherBatches other_batches_;
  OutsideWrites outside_writes_;
  CapCredit credit_;
  Serving serving_;
  Checkpoint checkpoint_;
  Ledger ledger_;
  Summary summary_;
  EventBuffer events_;
  std::vector<Reading> readings_;
  Time started_{};
  Time newest_tick_{};
  bool glances_ = false;  // this tick is one between periods: it reads and steps down, no more

  std::optional<std::int64_t> cap_mw_;  // exact: the guard's
  BoundedText<32> told_source_;         // of the newest note of the cap
  Goal goal_;                           // the policy's: a cap that moves is in steps
  Time goal_changed_{};
  bool goal_pending_ = false;  // a looser goal waits for its dwell

  Aim aim_ = Aim::nothing;
  Setting wanted_;
  bool settled_ = true;          // the wanted setting's change has ended
  bool steps_down_ = false;      // it was asked for by a limit
  bool workload_waits_ = false;  // the knobs are in place, and a workload has not answered yet
  bool halted_ = false;          // nobody answers who could step down: the workloads wait
  bool mode_begins_ = false;     // no knob was moved for it yet
  bool mode_waits_ = false;  // for lighter batches: the knobs are still those of the setting before
  Time applying_since_{};
  Time wanted_since_{};               // however often it was applied again
  std::int64_t power_before_mw_ = 0;  // the window's mean then
  std::int64_t most_before_mw_ = 0;   // what the setting before may have drawn, by that window
  CutExcuses excuses_;                // for power that may have been the setting's before
  std::optional<Setting> spared_;     // cut, but not for good: until the policy goes on
  Pending pending_ = Pending::nothing;
  Observation pending_answer_;
  Request asked_;
  std::uint32_t measurements_ = 0;  // of this run of the policy
  bool measuring_hold_ = false;     // a setting is held, and measured on and on
  Time hold_measured_since_{};
  std::uint32_t proofs_ = 0;      // as many measurements, at most, come before the policy goes on
  bool late_before_ = false;      // requests, when the policy asked for what is wanted now
  bool seeks_reference_ = false;  // the running measurement is the controller's own
  // Where it is, if that is lower than the highest setting, which could not be measured.
  std::optional<ReferenceSearch::Place> lower_reference_;
  std::array<std::int32_t, kKinds> reference_batches_{};  // own_batches() when it was measured
  std::uint32_t failed_holds_ = 0;
  std::uint32_t rewrites_ = 0;  // of the running measurement
  bool refused_by_workload_ = false;
  bool power_lost_ = false;
  bool paused_ = false;  // a limit leaves no power to work with: the workloads wait
  LowestMode lowest_mode_ = LowestMode::fits;
  bool lacked_requests_ = false;  // said once: nobody's latency can be the least
  CutExcuses silences_;           // for settings in which a workload fell silent
  CutExcuses second_looks_;       // at settings whose power was not the same all the while
  SecondChance second_chance_;    // of a search that found nothing
  Relief relief_;                 // what serves requests alone, under this cap
  Time fell_far_ = Time{} - std::chrono::hours(1);
  Time stepped_again_{};  // when what a limit asked for was last written once more

  Battery battery_;
  std::int64_t baseload_sum_mw_ = 0;
  std::int64_t baseload_count_ = 0;
  std::array<Duration, kKinds> newest_minibatch_{};
};

}  // namespace gearshift

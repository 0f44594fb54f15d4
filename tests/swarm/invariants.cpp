// Runs a scenario and looks at the invariants after every step.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "tests/swarm/reports.h"
#include "tests/swarm/scenario.h"

namespace gearshift::swarm {
namespace {

// Power that is over the cap by less may be the noise of a sensor that deviates by 2 %.
constexpr double kTolerance = 1.1;
// The longest that the guard can take: the sensor's own averaging (0.43 s, or a lag of 0.7 s), a
// window of readings (0.43 s), and where the setting it goes to is over the cap as well, two
// windows until it may judge again. Thousands of scenarios come to 2.4 s.
constexpr double kMostOverCapS = 3;
constexpr Duration kAftermath = std::chrono::seconds(10);
// What a duty cycle is judged by: its mean over so long, to the end of a wait. A minibatch of the
// lowest mode may take minutes.
constexpr Duration kRestsFor = std::chrono::minutes(2);
// A sensor that shows instants misses what happens between two looks.
constexpr double kRestTolerance = 1.03, kInstantTolerance = 1.15;

// The mean of true power over a duty cycle.
class RestWatch {
 public:
  explicit RestWatch(const Effects& effects)
      : tolerance_(effects.lag ? kRestTolerance : kInstantTolerance) {}

  // False where it is over the cap.
  bool step(Time now, bool rests, double power_w, double cap_w, bool works) {
    if (!rests || cap_w != cap_w_) {
      cap_w_ = cap_w;
      began_ = newest_ = now;
      energy_j_ = 0;
      worked_ = works;
      return true;
    }
    const double step_s = seconds(now - newest_);
    newest_ = now;
    energy_j_ += power_w * step_s;
    const bool worked = std::exchange(worked_, works);
    if (worked || !works || now - began_ < kRestsFor) return true;
    judged_ = true;
    return energy_j_ <= tolerance_ * cap_w * seconds(now - began_);
  }
  bool judged() const { return judged_; }

 private:
  double tolerance_;
  double cap_w_ = 0, energy_j_ = 0;
  bool worked_ = false;
  Time began_{}, newest_{};
  bool judged_ = false;
};

bool blinds(FaultKind kind) {
  return kind == FaultKind::reading_stuck || kind == FaultKind::reading_missing ||
         kind == FaultKind::reading_absurd || kind == FaultKind::knob_refuses ||
         kind == FaultKind::knob_lies;
}

class Watch : public Recorder {
 public:
  Watch(const Scenario& scenario, ScenarioResult& result)
      : scenario_(scenario),
        result_(result),
        problem_(scenario.problem),
        reports_(problem_.faults),
        rest_(problem_.effects) {}

  void tick(const TickInputs&) override {}
  void status(const Status&) override {}
  void note(const Note& note) override {
    reports_.note(note);
    result_.log += std::to_string(note.time.time_since_epoch().count()) + ' ' +
                   std::string(note_name(note.type)) + ' ' + std::to_string(note.value) + ' ';
    if (note.setting != nullptr) result_.log += problem_.knobs.describe(note.setting->mode) + ' ';
    if (note.observation != nullptr) {
      result_.log += std::string(outcome_name(note.observation->outcome)) + ' ' +
                     std::to_string(note.observation->power_mean_mw) + ' ';
    }
    result_.log += std::string(note.text) + '\n';
    // A setting that is held may be measured, or cut short, beside the search's own; and the repeat
    // that shows a drift is an observation of the world after it.
    if (note.type == NoteType::over_cap || note.type == NoteType::hold ||
        note.type == NoteType::drift) {
      ++allowed_;
    }
    if (note.type == NoteType::observation && ++measured_ > allowed_) {
      fail("the search measures more than its limit of " +
           std::to_string(problem_.most_measurements));
    }
  }
  void policy_starts() {
    measured_ = 0;
    allowed_ = problem_.most_measurements;
  }

  void step(Plant& plant, const Status& status) {
    now_ = status.time;
    const KnobSpace& knobs = problem_.knobs;
    if (status.phase != Phase::waiting && status.setting.mode.count > 0) {
      if (!knobs.contains(status.setting.mode))
        fail("the setting wanted is outside the knob space");
    }
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      const std::vector<std::int64_t>& values = knobs.knobs[i].values;
      const std::int64_t value = plant.mode().values[i];
      const bool between_cores = knobs.knobs[i].knob_class == KnobClass::hotplug &&
                                 value > values.front() && value < values.back();
      if (!between_cores && !std::binary_search(values.begin(), values.end(), value)) {
        fail(knobs.knobs[i].name + " is set to a value it does not have");
      }
    }
    for (const SimulatedWorkload& workload : plant.workloads()) {
      const SimulatedTask& task = *std::find_if(
          problem_.tasks.begin(), problem_.tasks.end(),
          [&](const SimulatedTask& one) { return one.kind == workload.hello().kind; });
      if (std::find(task.batch_sizes.begin(), task.batch_sizes.end(), workload.batch_size()) ==
          task.batch_sizes.end()) {
        fail("a workload runs with a batch size it does not allow");
      }
    }
    watch_power(plant, status);
    if (const auto complaint = reports_.step(status)) fail(*complaint);
    rationed_ = status.phase == Phase::rationed;
    result_.told = reports_.told();
  }

  bool rationed() const { return rationed_; }

 private:
  void watch_power(Plant& plant, const Status& status) {
    const double cap_w = static_cast<double>(status.cap_mw) / 1000;
    const bool over = is_power(status.cap_mw) && plant.true_power_w() > kTolerance * cap_w;
    // One that was asked to wait ends its minibatch first.
    const auto runs = [](const SimulatedWorkload& workload) { return workload.wanted_to_run(); };
    const bool works = std::any_of(plant.workloads().begin(), plant.workloads().end(), runs);
    // All that can be done without a helper is to let them wait.
    const bool vanished =
        active_fault(problem_.faults, FaultKind::helper_vanishes, now_) != nullptr;
    const bool helpless = vanished && (!works || status.phase == Phase::waiting);
    const bool nothing_lower = plant.mode() == safe_mode() || phase_is_safe(status) || helpless;
    const bool blind =
        std::any_of(problem_.faults.begin(), problem_.faults.end(), [&](const Fault& fault) {
          return blinds(fault.kind) && fault.begin <= now_ && now_ < fault.end + kAftermath;
        });
    const bool rests = status.phase == Phase::resting && !blind && !vanished;
    if (!rest_.step(now_, rests, plant.true_power_w(), cap_w, works)) {
      fail("mean power is over the cap while workloads wait part of the time");
    }
    result_.rested = rest_.judged();
    if (!over || nothing_lower || blind || status.cap_mw != cap_mw_) since_ = now_;
    cap_mw_ = status.cap_mw;
    const double over_s = seconds(now_ - since_);
    result_.longest_over_cap_s = std::max(result_.longest_over_cap_s, over_s);
    if (over_s > kMostOverCapS) {
      fail("true power is over the cap for longer than the guard allows");
    }
  }
  // The lowest mode is held and in force: there is nothing left to lower.
  bool phase_is_safe(const Status& status) const {
    const bool safe = status.phase == Phase::safe || status.phase == Phase::resting;
    return safe && status.setting.mode == safe_mode();
  }
  const PowerMode& safe_mode() const {
    if (!safe_) safe_ = *simulated_traits(problem_).safe;
    return *safe_;
  }
  void fail(const std::string& what) {
    if (result_.violations.size() == 5) return;
    result_.violations.push_back(std::to_string(seconds(now_ - Time{})) + " s: " + what);
  }

  const Scenario& scenario_;
  ScenarioResult& result_;
  const SimulationProblem& problem_;
  ReportWatch reports_;
  RestWatch rest_;
  mutable std::optional<PowerMode> safe_;
  Time now_{};
  Time since_{};
  std::int64_t cap_mw_ = 0;
  bool rationed_ = false;
  std::uint32_t measured_ = 0;
  std::uint32_t allowed_ = 0;
};

// Tells the watch when the policy starts anew.
class StartsSeen : public Policy {
 public:
  StartsSeen(Policy& policy, Watch& watch) : policy_(policy), watch_(watch) {}
  Request start(const PolicyContext& context) override {
    watch_.policy_starts();
    return policy_.start(context);
  }
  Request resume(const Observation& answer) override { return policy_.resume(answer); }
  Request replace(std::string_view text, const PolicyContext& context) override {
    return policy_.replace(text, context);
  }
  std::string_view failure() const override { return policy_.failure(); }
  std::string take_log() override { return policy_.take_log(); }

 private:
  Policy& policy_;
  Watch& watch_;
};

}  // namespace

ScenarioResult run_scenario(std::uint64_t seed, const std::string& scripts, Duration trouble) {
  const Scenario scenario = make_scenario(seed, scripts, trouble);
  ScenarioResult result;
  result.faults = scenario.problem.faults.size();
  for (const Fault& fault : scenario.problem.faults) {
    result.log += "fault " + std::to_string(static_cast<int>(fault.kind)) + " of knob " +
                  std::to_string(fault.knob) + ", " +
                  std::to_string(seconds(fault.begin - Time{})) + " to " +
                  std::to_string(seconds(fault.end - Time{})) + " s\n";
  }
  Watch watch(scenario, result);
  StartsSeen policy(*scenario.policy, watch);
  ScheduleLimit limit(scenario.caps);
  result.result = simulate(
      scenario.problem, policy, limit,
      {.recorder = &watch,
       .observer = [&watch](Plant& plant, const Status& status) { watch.step(plant, status); }});
  if (!result.result.restored) result.violations.push_back("the board is not as it was found");
  if (result.result.policy_errors > 0 && scenario.policy_name.ends_with(".lua")) {
    result.violations.push_back(scenario.policy_name + " failed: " + result.result.policy_error);
  }
  // What asks for anything may ask for settings over the cap without end: the ration spaces them
  // out.
  const bool random = !scenario.policy_name.ends_with(".lua");
  if (result.result.ending == Ending::unsettled && !(random && watch.rationed())) {
    result.violations.push_back("the search has come to no end");
  }
  return result;
}

}  // namespace gearshift::swarm

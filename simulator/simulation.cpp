#include "simulator/simulation.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "controller/latency_guard.h"
#include "simulator/exhaustive_optimum.h"
#include "simulator/faulty_board.h"
#include "simulator/faulty_world.h"
#include "simulator/interleaved_optimum.h"
#include "simulator/rail_sample.h"
#include "simulator/simulated_board.h"
#include "simulator/simulated_world.h"
#include "trace/recorded_inputs.h"

namespace gearshift {
namespace {

// While the guard waits for power to fall the safe setting is held too, for less than this.
constexpr Duration kSafeLongEnough = std::chrono::seconds(10);
// And while it waits for requests to be in time: for their limit, kQuiet, and less than this.
constexpr Duration kReportsWithin = std::chrono::seconds(3);

Duration safe_long_enough(const Goal& goal) {
  const Duration in_time = goal.latency.value_or(Duration{}) + LatencyGuard::kQuiet;
  return std::max(kSafeLongEnough, in_time + kReportsWithin);
}

bool tried(Outcome outcome) {
  return outcome == Outcome::complete || outcome == Outcome::over_limit ||
         outcome == Outcome::late || outcome == Outcome::stalled;
}

void add_distinct(std::vector<Setting>& settings, const Setting& setting) {
  if (std::find(settings.begin(), settings.end(), setting) == settings.end()) {
    settings.push_back(setting);
  }
}

// Sees what the controller records, and says when the search has come to its end.
class SearchTrace : public Recorder {
 public:
  SearchTrace(const SimulationProblem& problem, const PowerMode& safe, Plant& plant,
              SimulatedWorld& world, const Onlookers& onlookers)
      : problem_(problem),
        safe_(safe),
        plant_(plant),
        world_(world),
        next_(onlookers.recorder),
        observer_(onlookers.observer) {}

  void watch(const Controller& controller) { controller_ = &controller; }
  void tick(const TickInputs& inputs) override {
    if (next_ != nullptr) next_->tick(inputs);
    for (const Event& event : inputs.events) {
      if (event.type != EventType::minibatch) continue;
      samples_[index(event.minibatch.kind)] += event.minibatch.batch_size;
    }
  }
  void note(const Note& note) override {
    if (next_ != nullptr) next_->note(note);
    if (note.type == NoteType::observation) add(*note.observation);
    if (note.type == NoteType::policy_error && policy_error_.empty()) policy_error_ = note.text;
    if (note.type == NoteType::safe) safe_why_ = note.text;
    if (note.type == NoteType::reference) {
      reference_ = note.setting != nullptr ? std::optional(*note.setting) : std::nullopt;
    }
    if (note.type == NoteType::hold || note.type == NoteType::safe) {
      search_ended_ = true;
      search_ = note.time - Time{};
      search_j_ = plant_.energy_j();
    }
  }
  void status(const Status& status) override {
    if (next_ != nullptr) next_->status(status);
    if (observer_) observer_(plant_, status);
    const Phase phase = status.phase == Phase::resting ? Phase::safe : status.phase;
    if (phase != phase_ || status.setting != setting_) since_ = status.time;
    if (phase == Phase::paused && phase_ != Phase::paused) ++mission_.pauses;
    phase_ = phase;
    setting_ = status.setting;
    safe_long_enough_ = safe_long_enough(status.goal);
    if (problem_.mission) {
      watch_mission(*problem_.mission);
      return;
    }
    lasted_ = status.time - since_;
    if (status.time - Time{} < problem_.least_duration) return;
    ending_ = settled(problem_.hold);
    if (ending_ == Ending::unsettled) return;
    world_.stop(phase_ == Phase::holding ? "the choice is held" : "no choice is held");
  }
  std::int64_t samples() const { return samples_[index(Kind::train)]; }
  void write(SimulationResult& result) const {
    result.samples = samples_;
    if (problem_.mission) result.mission = mission_;
    if (result.mission) result.mission->samples = samples();
    // What is held when the time is over is so too, if not for as long as was asked for.
    const bool over = ending_ == Ending::unsettled && !problem_.mission;
    result.ending = over ? settled(Duration::zero()) : ending_;
    result.setting = setting_;
    if (result.ending == Ending::held && phase_ == Phase::holding) {
      result.observation = choice()->observation;
      result.held_for = lasted_;
    }
    result.reference = reference_;
    result.measured = measured_;
    result.sequence = sequence_;
    result.refused = static_cast<std::uint32_t>(refused_.size());
    result.not_applied = static_cast<std::uint32_t>(not_applied_.size());
    result.policy_error = policy_error_;
    if (result.ending == Ending::safe) result.safe_why = safe_why_;
    result.search_ended = search_ended_;
    result.search = search_;
    result.search_j = search_j_;
  }

 private:
  // What the search came to where its choice was held for `hold`, or the safe setting long enough.
  Ending settled(Duration hold) const {
    if (phase_ == Phase::holding && lasted_ >= hold && choice() != nullptr &&
        choice()->observation) {
      return Ending::held;
    }
    if (phase_ != Phase::safe || lasted_ < safe_long_enough_) return Ending::unsettled;
    // The best that was measured may stand in for a choice.
    return setting_.mode == safe_ ? Ending::safe : Ending::held;
  }
  void watch_mission(const Mission& mission) {
    const Supply& supply = *plant_.supply();
    mission_.energy_wh = supply.battery().energy_wh();
    mission_.least_wh = supply.least_wh();
    mission_.offered_wh = supply.offered_j() / kJoulesInWh;
    mission_.charged_wh = supply.charged_j() / kJoulesInWh;
    mission_.lost_wh = supply.battery().lost_j() / kJoulesInWh;
    if (ending_ != Ending::unsettled) return;
    if (mission.samples > 0 && samples() >= mission.samples) {
      ending_ = Ending::done;
      world_.stop("the work is done");
    } else if (supply.emptied()) {
      ending_ = Ending::empty;
      world_.stop("the battery is empty");
    }
  }

  const Choice* choice() const {
    const auto& choices = controller_->summary().choices;
    return choices.empty() ? nullptr : &choices.back();
  }
  void add(const Observation& observation) {
    if (tried(observation.outcome)) {
      add_distinct(measured_, observation.setting);
      count(observation.setting);
    }
    if (observation.outcome == Outcome::refused) add_distinct(refused_, observation.setting);
    if (observation.outcome == Outcome::not_applied) {
      add_distinct(not_applied_, observation.setting);
    }
  }

  void count(const Setting& setting) {
    if (problem_.stop_after == 0 || sequence_.size() == problem_.stop_after) return;
    sequence_.push_back(setting);
    if (sequence_.size() == problem_.stop_after) world_.stop("all measurements were made");
  }

  const SimulationProblem& problem_;
  const PowerMode safe_;
  Plant& plant_;
  SimulatedWorld& world_;
  Recorder* next_;
  const StepObserver& observer_;
  const Controller* controller_ = nullptr;
  Ending ending_ = Ending::unsettled;
  Phase phase_ = Phase::waiting;
  Setting setting_;
  std::optional<Setting> reference_;
  Time since_{};
  Duration lasted_{};  // since then
  Duration safe_long_enough_ = kSafeLongEnough;
  std::vector<Setting> measured_;
  std::vector<Setting> sequence_;
  std::vector<Setting> refused_;
  std::vector<Setting> not_applied_;
  std::string policy_error_, safe_why_;
  bool search_ended_ = false;
  Duration search_{};
  double search_j_ = 0;
  MissionFigures mission_;  // but its samples
  std::array<std::int64_t, kKinds> samples_{};
};

bool beside_requests(const SimulationProblem& problem, const Setting& setting) {
  return setting.run == Run::both && problem.tasks.size() == kKinds &&
         std::any_of(problem.tasks.begin(), problem.tasks.end(),
                     [](const SimulatedTask& task) { return task.arrivals.has_value(); });
}

// True power of a setting, that a cap is held against; nullopt where it has no cost.
std::optional<double> true_power_w(const SimulationProblem& problem, const Setting& setting,
                                   Time end) {
  if (beside_requests(problem, setting)) {
    return power_beside(problem, Beside::requests, setting.mode,
                        setting.batch_size[index(Kind::infer)], end);
  }
  double all_ms = 0;
  double all_mj = 0;
  double most_w = 0;
  for (const SimulatedTask& task : problem.tasks) {
    if (!runs(setting.run, task.kind)) continue;
    const std::int32_t batch_size = setting.batch_size[index(task.kind)];
    auto cost = task.costs_at(end).cost(setting.mode, batch_size);
    if (!cost) return std::nullopt;
    if (problem.tasks.size() == 1) {
      cost = with_pauses(problem.goal, task, setting.mode, batch_size, *cost);
    }
    all_ms += cost->minibatch_ms;
    all_mj += cost->minibatch_ms * cost->power_w;
    most_w = std::max(most_w, cost->power_w);
  }
  if (all_ms <= 0) return std::nullopt;
  if (problem.sharing == Sharing::interleaved) return most_w;
  return all_mj / all_ms;
}

// By what the settings cost at the end.
void judge_truth(const SimulationProblem& problem, SimulationResult& result) {
  const Time end = Time{} + result.duration;
  for (const Setting& setting : result.measured) {
    const auto power_w = true_power_w(problem, setting, end);
    if (power_w && problem.goal.power_mw &&
        *power_w > static_cast<double>(*problem.goal.power_mw) / 1000) {
      ++result.measured_over_cap;
    }
    for (const SimulatedTask& task : problem.tasks) {
      const auto cost = task.costs_at(end).cost(setting.mode, setting.batch_size[index(task.kind)]);
      if (cost && cost->origin == CostOrigin::nearest) ++result.filled_nearest;
      if (cost && cost->origin == CostOrigin::model) ++result.filled_model;
    }
  }
  for (const SimulatedTask& task : problem.tasks) {
    const std::int32_t batch_size = result.setting.batch_size[index(task.kind)];
    if (batch_size == 0) continue;
    result.cost[index(task.kind)] = task.costs_at(end).cost(result.setting.mode, batch_size);
  }
}

// Where nothing is planned to fail, nothing stands between the controller and the plant.
Board make_board(const SimulationProblem& problem, Plant& plant, BoardTraits traits,
                 RecordingWriter* recording) {
  std::unique_ptr<Actuator> actuator = std::make_unique<SimulatedActuator>(plant);
  std::unique_ptr<Sensor> sensor =
      std::make_unique<SimulatedSensor>(plant, problem.sensor_interval.value_or(Duration::zero()));
  if (!problem.faults.empty()) {
    actuator = std::make_unique<FaultyActuator>(std::move(actuator), problem.faults, plant);
    sensor = std::make_unique<FaultySensor>(std::move(sensor), problem.faults);
  }
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::move(sensor));
  if (recording != nullptr) {
    actuator = recorded(std::move(actuator), *recording);
    sensors = recorded(std::move(sensors), *recording);
  }
  return {std::move(actuator), std::move(sensors), std::move(traits)};
}

}  // namespace

std::string_view ending_name(Ending ending) {
  return ending == Ending::held        ? "held"
         : ending == Ending::safe      ? "safe"
         : ending == Ending::unsettled ? "unsettled"
         : ending == Ending::done      ? "done"
                                       : "empty";
}

std::vector<PowerMode> unmeasured_order(const KnobSpace& knobs) {
  return modes_by_power(BoardDescription{}, knobs);  // a board without a model
}

BoardTraits simulated_traits(const SimulationProblem& problem) {
  BoardTraits traits;
  traits.name = problem.board;
  traits.power_window = problem.power_window();
  if (problem.effects.lag == LagShape::boxcar) {
    traits.power_averaging = problem.effects.lag_constant;
    traits.power_window = std::max(traits.power_window, traits.power_averaging);
  }
  if (problem.effects.quantised) traits.power_rounding_mw = kTotalRoundingMw;
  traits.stale_after = std::max<Duration>(std::chrono::milliseconds(1000), 2 * traits.power_window);
  traits.apply_timeout = std::chrono::milliseconds(5000);
  traits.modes = unmeasured_order(problem.knobs);
  const auto exists = [&](const PowerMode& mode) {
    return std::all_of(problem.tasks.begin(), problem.tasks.end(), [&](const SimulatedTask& task) {
      return task.costs->cost(mode, task.batch_size).has_value();
    });
  };
  const auto safe = std::find_if(traits.modes.begin(), traits.modes.end(), exists);
  traits.safe = safe == traits.modes.end() ? traits.modes.front() : *safe;
  return traits;
}

ControllerOptions simulated_options(const SimulationProblem& problem) {
  ControllerOptions options;
  options.duration = problem.most_duration;
  options.goal = problem.goal;
  options.seed = problem.seed;
  options.prior = problem.prior;
  options.most_measurements = problem.most_measurements;
  return options;
}

SimulationResult simulate(const SimulationProblem& problem, Policy& policy, LimitSource& limit,
                          const Onlookers& onlookers) {
  LimitSource* const limits[] = {&limit};
  return simulate(problem, policy, limits, onlookers);
}

SimulationResult simulate(const SimulationProblem& problem, Policy& policy,
                          std::span<LimitSource* const> limits, const Onlookers& onlookers) {
  RecordingWriter* const recording = onlookers.recording;
  BoardTraits traits = simulated_traits(problem);
  const PowerMode first = *traits.safe;
  Plant plant(problem.knobs, first, problem.tasks, problem.effects, problem.seed, problem.sharing);
  if (problem.mission) plant.power_by(problem.mission->supply);
  if (problem.enclosure) plant.house_in(*problem.enclosure);
  SimulatedWorld world(plant);
  FaultyWorld faulty_world(world, problem.faults);
  World* seen_world = problem.faults.empty() ? static_cast<World*>(&world) : &faulty_world;
  std::optional<RecordedWorld> recorded_world;
  std::deque<RecordedLimit> recorded_limits;
  std::vector<LimitSource*> seen_limits(limits.begin(), limits.end());
  if (recording != nullptr) {
    seen_world = &recorded_world.emplace(*seen_world, *recording);
    for (LimitSource*& limit : seen_limits) {
      const auto source = static_cast<std::uint32_t>(recorded_limits.size());
      limit = &recorded_limits.emplace_back(*limit, source, *recording);
    }
  }
  Board board = make_board(problem, plant, std::move(traits), recording);
  SearchTrace trace(problem, first, plant, world, onlookers);
  Controller controller(*seen_world, board, policy, trace, seen_limits, simulated_options(problem));
  trace.watch(controller);
  controller.run();

  SimulationResult result;
  trace.write(result);
  result.measurements = controller.summary().measurements;
  result.guard_steps = controller.summary().guard_steps;
  result.policy_errors = controller.summary().policy_errors;
  result.drifts = controller.summary().drifts;
  result.duration = controller.summary().duration;
  result.energy = plant.account();
  if (!result.search_ended) {
    result.search = result.duration;
    result.search_j = plant.energy_j();
  }
  result.requests = plant.requests();
  if (const Enclosure* enclosure = plant.enclosure()) {
    result.heat = {enclosure->hottest_c(), enclosure->slowed_s(), trace.samples()};
  }
  judge_truth(problem, result);
  board.restore();
  result.restored = plant.mode() == first;
  return result;
}

}  // namespace gearshift

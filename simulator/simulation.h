// One problem from its beginning to its end: a policy searches and holds a setting on a simulated
// board, under the controller that runs live.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/controller.h"
#include "simulator/cost_source.h"
#include "simulator/effects.h"
#include "simulator/fault_plan.h"
#include "simulator/plant.h"
#include "trace/recording_writer.h"

namespace gearshift {

// A board on a battery, for as long as the work, the battery or the problem's most_duration lasts:
// no choice ends it.
struct Mission {
  SupplySpec supply;
  std::int64_t samples = 0;  // of training that are the work; 0: there is no end to it
};

// What became of a mission.
struct MissionFigures {
  std::int64_t samples = 0;  // of training, as the workload told
  double energy_wh = 0;      // left in the battery at the end
  double least_wh = 0;       // that was ever left
  double offered_wh = 0;     // by the charger
  double charged_wh = 0;     // of that what was taken: by the board, by others and by the battery
  double lost_wh = 0;        // in the battery
  std::uint32_t pauses = 0;  // how often the workloads were made to wait
};

// How hot a board became in its housing.
struct HeatFigures {
  double hottest_c = 0;
  double slowed_s = 0;       // for how long it was slowed down
  std::int64_t samples = 0;  // of training, as the workload told
};

struct SimulationProblem {
  std::string board;                 // a name for messages
  KnobSpace knobs;                   // what may be set: a part of what the costs know, or all
  std::vector<SimulatedTask> tasks;  // one or two, at most one a kind
  Sharing sharing = Sharing::turns;  // of two
  Goal goal;                         // power_mw too: it is judged by, and a limit source of it runs
  Effects effects;
  // The power sensor has a new reading so often, and that is the window that a cap is judged by;
  // nullopt: a reading at every look, and 430 ms.
  std::optional<Duration> sensor_interval{};
  Duration power_window() const { return sensor_interval.value_or(std::chrono::milliseconds(430)); }
  FaultPlan faults;
  std::uint64_t seed = 1;
  std::vector<const Profile*> prior;       // tables that the policy may read
  std::uint32_t most_measurements = 5000;  // then the best that was measured is held
  // Virtual time; a policy that learns for ever is stopped then.
  Duration most_duration = std::chrono::hours(12);
  // The simulation ends when the choice was held for so long, time for the guard to object, and not
  // before `least_duration`.
  Duration hold = std::chrono::seconds(2);
  Duration least_duration{};
  // It also ends with so many measurements, those of known settings too; 0: that ends nothing.
  std::uint32_t stop_after = 0;
  std::optional<Mission> mission{};
  std::optional<EnclosureSpec> enclosure{};  // nullopt: it never becomes hot
};

// What the simulation ended with.
enum class Ending : std::uint8_t {
  held,  // the policy's choice was measured and held, or the best that was measured stands in for
         // it
  safe,  // the safe setting: nothing keeps the limits, or the policy failed
  unsettled,  // the duration was over before the search
  done,       // the work of a mission was done
  empty,      // the battery of a mission gave no more
};
std::string_view ending_name(Ending ending);

struct SimulationResult {
  Ending ending = Ending::unsettled;
  Setting setting;                         // in force at the end
  std::optional<Observation> observation;  // of the policy's choice, where it was held
  Duration held_for{};  // so long at the end; less than `hold` where the time was over
  // That the controller measured a weighted goal against at the end; nullopt: it measured none.
  std::optional<Setting> reference;
  // Of the setting at the end, as the cost source has it; nullopt where it has none.
  std::array<std::optional<TrueCost>, kKinds> cost{};

  std::vector<Setting> measured;  // distinct settings that were tried, in order
  std::vector<Setting> sequence;  // every measurement in order, where the problem has a stop_after
  std::uint32_t measurements = 0;
  std::uint32_t measured_over_cap = 0;  // of `measured`: whose true power is over the goal's
  std::uint32_t filled_nearest = 0;     // of `measured`: by where their cost comes from
  std::uint32_t filled_model = 0;
  std::uint32_t refused = 0;      // settings that the profile has no cell for
  std::uint32_t not_applied = 0;  // distinct settings that never came into force
  std::uint32_t guard_steps = 0;
  std::uint32_t policy_errors = 0;
  std::uint32_t drifts = 0;  // how often the controller found that the world had changed
  std::string policy_error;  // the first, where there is one
  std::string safe_why;      // where it ended in the safe setting, as the controller last said

  bool search_ended = false;                   // in a choice, or in none that fits
  Duration search{};                           // until then, else of the whole
  double search_j = 0;                         // true energy until then
  Duration duration{};                         // of the whole
  std::array<std::int64_t, kKinds> samples{};  // of the whole, by the minibatches reported
  EnergyAccount energy;                        // of the whole, by true power
  std::optional<RequestFigures> requests;      // of the whole, where they come one by one
  std::optional<MissionFigures> mission;       // of the whole, where the problem has one
  std::optional<HeatFigures> heat;             // of the whole, where the problem has an enclosure
  bool restored = false;  // after the end every knob was put back as it had been found
};

// The modes of the space in the order that any policy may know: by the product of the knobs'
// relative positions (a power limit caps it), never by what was measured or modelled.
std::vector<PowerMode> unmeasured_order(const KnobSpace& knobs);

// What a simulated board tells the controller of itself. Its safe mode is the first in that order
// that has a cost at all.
BoardTraits simulated_traits(const SimulationProblem& problem);

// What the controller is told for the problem.
ControllerOptions simulated_options(const SimulationProblem& problem);

// Called at the end of each tick.
using StepObserver = std::function<void(Plant&, const Status&)>;

// Who looks on; any may be absent. All are borrowed.
struct Onlookers {
  Recorder* recorder = nullptr;
  StepObserver observer = {};
  // Gets what the board, the limit and the world answer; whoever hands it over also makes it, or a
  // recorder that feeds it, the recorder.
  RecordingWriter* recording = nullptr;
};

// Runs the problem until the choice is held and measured, or there is none; a mission to its end.
// `limits` give the cap that the controller obeys, the least of theirs. Several may run at once in
// several threads with objects of their own; the cost sources may be shared. Equal arguments give
// equal results.
SimulationResult simulate(const SimulationProblem& problem, Policy& policy,
                          std::span<LimitSource* const> limits, const Onlookers& onlookers = {});
SimulationResult simulate(const SimulationProblem& problem, Policy& policy, LimitSource& limit,
                          const Onlookers& onlookers = {});

}  // namespace gearshift

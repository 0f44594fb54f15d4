// What gearshift simulate is asked for, and the problem it makes of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "cli/goal_flags.h"
#include "cli/profile_files.h"
#include "cli/simulated_faults.h"
#include "cli/simulated_mission.h"
#include "controller/profile.h"
#include "simulator/cost_source.h"
#include "simulator/simulation.h"

namespace gearshift {

struct SimulateOptions {
  std::string profile;
  std::string trace;  // a recording, whose measurements are the profile
  std::string board;
  std::string workload;
  std::string infer_profile;   // of a pair's inference; empty: `profile` or `trace` has it too
  std::string infer_workload;  // of a pair
  std::string model;           // the board model's workload that fills missing cells
  std::string kind = "train";
  std::string policy = "bayes";
  std::vector<std::string> prior;  // tables that the policy may read
  std::string power;
  GoalFlags goal;                 // no objective: time for train, latency for infer with a rate
  std::vector<std::string> keep;  // "knob=a,b,c"
  std::vector<std::int32_t> batch_sizes;
  std::int32_t batch_size = 0;  // at the beginning; 0: 16 where it is allowed, else the least
  std::string effects = "none";
  std::string sensor_interval;      // empty: a reading at every look
  std::vector<std::string> faults;  // see parse_faults
  std::string missing = "refuse";
  std::string duration = "12h";
  std::string hold = "2s";  // the choice is held for so long before the end
  std::string arrivals;     // of requests to the inference workload, see parse_arrivals; or none
  std::uint64_t seed = 1;
  std::uint32_t probes = 5000;
  std::string log;
  std::string record;
  bool overwrite = false;
  bool json = false;
  MissionFlags mission;
  // That were read, for all problems that are made of the same files.
  std::shared_ptr<ProfileFiles> files = std::make_shared<ProfileFiles>();
};

// The problem and what it refers to. Moving it keeps the references.
struct SimulatedProblem {
  std::unique_ptr<BoardDescription> board;
  std::unique_ptr<Profile> profile;
  std::unique_ptr<Profile> infer_profile;  // of a pair's inference
  std::vector<std::unique_ptr<Profile>> priors;
  std::unique_ptr<KnobSpace> board_knobs;
  std::unique_ptr<CostSource> model;
  std::unique_ptr<CostSource> costs;
  std::unique_ptr<CostSource> infer_costs;  // of a pair
  std::unique_ptr<KnobSpace> whole_knobs;   // that the costs know
  std::vector<std::unique_ptr<Profile>> other_profiles;
  std::vector<std::unique_ptr<CostSource>> other_costs;  // that faults change to
  std::vector<ScheduleStep> caps;     // instead of the goal's power, where a fault steps it
  std::vector<ScheduleStep> stepped;  // of each what the faults say
  SimulationProblem problem;
};

// The knobs with only the values that "knob=a,b,c" names, in the units people read. Throws
// std::invalid_argument that names the knob or value there is not, and those there are.
KnobSpace keep_values(const KnobSpace& knobs, const std::vector<std::string>& keep);

// Throws std::runtime_error or std::invalid_argument that names the option, its value and what is
// allowed.
SimulatedProblem make_simulated_problem(const SimulateOptions& options);

}  // namespace gearshift

#include "cli/simulated_problem.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "boards/sysroot.h"
#include "cli/arrival_flags.h"
#include "cli/flag_value.h"
#include "cli/knob_values.h"
#include "cli/prior_tables.h"
#include "cli/select_board.h"
#include "cli/select_workload.h"
#include "cli/simulated_costs.h"
#include "cli/units.h"
#include "simulator/load.h"
#include "simulator/throttled_costs.h"

namespace gearshift {
namespace {

bool is_pair(const SimulateOptions& options) { return options.kind == "concurrent"; }

// Of the workload that comes first: a pair's training.
Kind kind_of(const SimulateOptions& options) {
  return options.kind == "infer" ? Kind::infer : Kind::train;
}

// Read once: a trace may come from a pipe.
std::optional<ArrivalSpec> arrivals_of(const SimulateOptions& options) {
  if (options.arrivals.empty()) return std::nullopt;
  return parse_arrivals(options.arrivals);
}

Goal goal_of(const SimulateOptions& options, const std::optional<ArrivalSpec>& arrivals) {
  GoalFlags flags = options.goal;
  if (flags.objective.empty() && !(flags.rate.empty() && options.arrivals.empty())) {
    flags.objective = is_pair(options) ? "throughput" : "latency";
  }
  Goal goal = make_goal(flags);
  // What they are planned for until the controller has counted them.
  if (arrivals) goal.arrivals_per_s = arrivals->mean_rate_per_s();
  if (!options.power.empty()) goal.power_mw = flag_value("--power", options.power, parse_power_mw);
  if (is_pair(options) && (goal.arrivals_per_s <= 0 || goal.objective != Objective::throughput)) {
    throw std::invalid_argument(
        "--problem concurrent is the most training beside requests: give --rate or --arrivals, for "
        "example --rate 60 --latency 500ms, and no other --objective than throughput");
  }
  if (goal.objective == Objective::throughput && kind_of(options) == Kind::infer) {
    throw std::invalid_argument(
        "--objective throughput: it is of training; give --problem concurrent, or time, energy or "
        "latency with --problem infer");
  }
  const bool serves = kind_of(options) == Kind::infer && goal.arrivals_per_s > 0;
  if ((goal.latency || goal.objective == Objective::latency || goal.arrivals_per_s > 0) &&
      !serves && !is_pair(options)) {
    throw std::invalid_argument(
        "latency is judged with --problem infer or concurrent and --rate, for example --rate 60 "
        "--latency 100ms");
  }
  return goal;
}

void choose_batch_sizes(const SimulateOptions& options, SimulatedTask& task) {
  if (!options.batch_sizes.empty()) task.batch_sizes = options.batch_sizes;
  std::sort(task.batch_sizes.begin(), task.batch_sizes.end());
  task.batch_sizes.erase(std::unique(task.batch_sizes.begin(), task.batch_sizes.end()),
                         task.batch_sizes.end());
  if (task.batch_sizes.size() > kMaxBatchSizes) {
    throw std::invalid_argument(fmt::format("--batch-sizes: {} of them; a workload may have {}",
                                            task.batch_sizes.size(), kMaxBatchSizes));
  }
  const auto allowed = [&](std::int32_t size) {
    return std::binary_search(task.batch_sizes.begin(), task.batch_sizes.end(), size);
  };
  task.batch_size = options.batch_size > 0 ? options.batch_size
                    : allowed(16)          ? 16
                                           : task.batch_sizes.front();
  if (!allowed(task.batch_size)) {
    throw std::invalid_argument(
        fmt::format("--batch-size {}: not one of the batch sizes allowed, {}", task.batch_size,
                    fmt::join(task.batch_sizes, ", ")));
  }
}

// Nothing that was asked for is dropped silently.
void check_unused_options(const SimulateOptions& options) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument(why); };
  const bool table = !options.profile.empty() || !options.trace.empty();
  if (!options.profile.empty() && !options.trace.empty()) {
    refuse("--trace stands instead of the table of --profile; give one of them");
  }
  if (!is_pair(options) && !(options.infer_profile.empty() && options.infer_workload.empty())) {
    refuse(fmt::format("{} belongs to --problem concurrent; leave it out",
                       options.infer_profile.empty() ? "--infer-workload" : "--infer-profile"));
  }
  if (!table && !options.infer_profile.empty()) {
    refuse("--infer-profile goes with --profile or --trace; by a model give --infer-workload");
  }
  if (!options.model.empty() && options.missing != "model") {
    refuse("--model belongs to --missing model; leave it out");
  }
  if (!table && options.missing != "refuse") {
    refuse(fmt::format("--missing {} goes with --profile or --trace; a board's model has no gaps",
                       options.missing));
  }
  if (!options.arrivals.empty() && !options.goal.rate.empty()) {
    refuse("--arrivals tells the rate too; leave --rate out");
  }
  if (!options.goal.priced_power.empty() && options.goal.objective != "target") {
    refuse("--priced-power belongs to --objective target; leave it out");
  }
}

// The costs, the knobs and the task's batch sizes come from the profile.
void take_profile(const SimulateOptions& options, SimulatedProblem& made, SimulatedTask& task) {
  WantedProfile wanted{.kind = kind_of(options), .workload = options.workload, .devices = {}};
  if (made.board) {
    wanted.devices = made.board->aliases;
    wanted.devices.push_back(made.board->id);
  }
  made.profile = select_profile(*options.files, options.profile, options.trace, wanted);
  const Missing missing = parse_missing(options.missing);
  made.problem.board = made.profile->device;
  made.problem.knobs = made.profile->knobs();
  task.name = made.profile->workload;
  task.batch_sizes = made.profile->batch_sizes();
  if (missing == Missing::model) {
    if (!made.board) {
      throw std::invalid_argument("--missing model: give --board, whose model fills the gaps");
    }
    made.model = filling_costs(*made.board, *made.profile, options.model);
  }
  made.costs = std::make_unique<ProfileCosts>(*made.profile, missing, made.model.get());
}

void take_board(const SimulateOptions& options, SimulatedProblem& made, SimulatedTask& task) {
  if (options.workload.empty()) {
    throw std::invalid_argument("--board needs --workload, for example --workload resnet18");
  }
  const WorkloadParameters& workload =
      require_workload(*made.board, options.workload, kind_of(options), "--workload").second;
  made.board_knobs = std::make_unique<KnobSpace>(made.board->knob_space());
  made.problem.board = made.board->id;
  made.problem.knobs = *made.board_knobs;
  made.costs = std::make_unique<ModelCosts>(*made.board, *made.board_knobs, workload);
  task.name = options.workload;
  task.batch_sizes = workload.kind == Kind::train ? std::vector<std::int32_t>{16}
                                                  : std::vector<std::int32_t>{1, 4, 16, 32, 64};
}

// The inference workload of a pair: its costs and its task, and the knobs that both have.
void add_served(const SimulateOptions& options, SimulatedProblem& made) {
  SimulatedTask& train = made.problem.tasks.front();
  train.batch_size = usual_train_batch(train.batch_sizes);
  train.batch_sizes = {train.batch_size};
  SimulatedTask infer;
  infer.kind = Kind::infer;
  if (made.profile) {
    const std::string& table =
        options.infer_profile.empty() ? options.profile : options.infer_profile;
    made.infer_profile = select_profile(
        *options.files, table, options.infer_profile.empty() ? options.trace : std::string(),
        {.kind = Kind::infer,
         .workload = options.infer_workload,
         .devices = {made.profile->device}});
    made.problem.knobs = common_knobs(*made.profile, *made.infer_profile);
    const Missing missing = parse_missing(options.missing);
    if (missing == Missing::model) {
      throw std::invalid_argument(
          "--missing model fills the gaps of one profile; with --problem concurrent give refuse or "
          "nearest");
    }
    made.infer_costs = std::make_unique<ProfileCosts>(*made.infer_profile, missing, nullptr);
    infer.name = made.infer_profile->workload;
    infer.batch_sizes = made.infer_profile->batch_sizes();
  } else {
    if (options.infer_workload.empty()) {
      throw std::invalid_argument(
          "--problem concurrent needs --infer-workload beside --workload, for example "
          "--infer-workload mobilenet_v3");
    }
    made.infer_costs = std::make_unique<ModelCosts>(
        *made.board, *made.board_knobs,
        require_workload(*made.board, options.infer_workload, Kind::infer, "--infer-workload")
            .second);
    infer.name = options.infer_workload;
    infer.batch_sizes = {1, 4, 16, 32, 64};
  }
  choose_batch_sizes(options, infer);
  infer.costs = made.infer_costs.get();
  made.problem.tasks.push_back(infer);
  made.problem.sharing = Sharing::interleaved;
}

// Requests come one by one, to the workload that serves them.
void add_arrivals(const std::optional<ArrivalSpec>& arrivals, SimulationProblem& problem) {
  if (!arrivals) return;
  for (SimulatedTask& task : problem.tasks) {
    if (task.kind != Kind::infer) continue;
    task.arrivals = arrivals;
    task.latency = problem.goal.latency.value_or(Duration::zero());
    return;
  }
  throw std::invalid_argument(
      "--arrivals: nothing serves them; give --problem infer or concurrent");
}

bool same_names(const KnobSpace& one, const KnobSpace& other) {
  return std::equal(one.knobs.begin(), one.knobs.end(), other.knobs.begin(), other.knobs.end(),
                    [](const Knob& a, const Knob& b) { return a.name == b.name; });
}

// What runs under the same name from some time on: of the profile that is named, or of the board's
// model where that tells the costs.
std::unique_ptr<CostSource> other_workload(const SimulateOptions& options, const std::string& name,
                                           SimulatedProblem& made) {
  if (!made.profile) {
    return std::make_unique<ModelCosts>(
        *made.board, *made.board_knobs,
        require_workload(*made.board, name, kind_of(options), "--fault workload").second);
  }
  const Kind kind = kind_of(options);
  std::vector<Profile> fitting = options.files->of(name);
  std::erase_if(fitting, [&](const Profile& one) { return one.kind != kind; });
  if (fitting.size() != 1) {
    std::string names;
    for (const Profile& one : fitting) names += (names.empty() ? "" : ", ") + one.workload;
    throw std::runtime_error(
        fmt::format("--fault workload:{}: it must have one {} workload; it has {}", name,
                    kind_name(kind), names.empty() ? "none" : names));
  }
  if (!same_names(fitting.front().knobs(), *made.whole_knobs)) {
    throw std::runtime_error(fmt::format("--fault workload:{}: its knobs are not those of {}", name,
                                         made.profile->workload));
  }
  made.other_profiles.push_back(std::make_unique<Profile>(std::move(fitting.front())));
  return std::make_unique<ProfileCosts>(*made.other_profiles.back(), Missing::nearest);
}

void add_changes(const SimulateOptions& options, const std::vector<WorldChange>& changes,
                 SimulatedProblem& made) {
  for (const WorldChange& change : changes) {
    for (SimulatedTask& task : made.problem.tasks) {
      if (change.factor > 0) {
        made.other_costs.push_back(
            std::make_unique<ThrottledCosts>(*task.costs, *made.whole_knobs, change.factor));
      } else if (task.kind == kind_of(options)) {
        made.other_costs.push_back(other_workload(options, change.workload, made));
      } else {
        continue;
      }
      task.changes.push_back({change.begin, change.end, made.other_costs.back().get()});
    }
  }
}

}  // namespace

KnobSpace keep_values(const KnobSpace& knobs, const std::vector<std::string>& texts) {
  KnobSpace kept = knobs;
  for (const std::string& text : texts) {
    KnobValues values = parse_knob_values(kept, "--keep '" + text + "'", text);
    kept.knobs[values.knob].values = std::move(values.values);
  }
  return kept;
}

SimulatedProblem make_simulated_problem(const SimulateOptions& options) {
  check_unused_options(options);
  SimulatedProblem made;
  if (!options.board.empty()) {
    made.board = std::make_unique<BoardDescription>(select_board(options.board, Sysroot("/")));
  }
  SimulatedTask task;
  task.kind = kind_of(options);
  if (!options.profile.empty() || !options.trace.empty()) {
    take_profile(options, made, task);
  } else if (made.board) {
    take_board(options, made, task);
  } else {
    throw std::invalid_argument(
        "give --profile FILE, --trace RECORDING, or --board ID and --workload NAME");
  }
  made.priors = read_prior_tables(options.prior, *options.files);
  made.problem.prior = borrowed(made.priors);
  if (!is_pair(options)) choose_batch_sizes(options, task);
  task.costs = made.costs.get();
  made.problem.tasks = {task};
  if (is_pair(options)) add_served(options, made);
  made.whole_knobs = std::make_unique<KnobSpace>(made.problem.knobs);
  made.problem.knobs = keep_values(made.problem.knobs, options.keep);
  if (made.profile) {
    require_few_modes(made.problem.knobs, options.trace.empty() ? options.profile : options.trace,
                      made.profile->workload);
  }
  const std::optional<ArrivalSpec> arrivals = arrivals_of(options);
  made.problem.goal = goal_of(options, arrivals);
  complete_goal(made.problem.goal, *made.whole_knobs);
  add_arrivals(arrivals, made.problem);
  add_mission(options.mission, made.problem);
  made.problem.effects = flag_value("--effects", options.effects, parse_effects);
  if (!options.sensor_interval.empty()) {
    const Duration interval =
        flag_value("--sensor-interval", options.sensor_interval, parse_duration);
    if (interval < std::chrono::milliseconds(1) || interval > std::chrono::seconds(10)) {
      throw std::invalid_argument(
          fmt::format("--sensor-interval {}: must be 1ms to 10s", options.sensor_interval));
    }
    made.problem.sensor_interval = interval;
  }
  SimulatedFaults faults =
      parse_faults(options.faults, made.problem.knobs, made.problem.goal.power_mw);
  made.problem.faults = std::move(faults.plan);
  made.problem.least_duration = faults.least_duration;
  made.caps = std::move(faults.caps);
  made.stepped = std::move(faults.stepped);
  add_changes(options, faults.changes, made);
  made.problem.seed = options.seed;
  made.problem.most_measurements = options.probes;
  made.problem.most_duration = flag_value("--duration", options.duration, parse_duration);
  made.problem.hold = flag_value("--hold", options.hold, parse_duration);
  if (is_pair(options) && !options.arrivals.empty()) {
    // Where nothing can be chosen it goes on as well.
    made.problem.least_duration = std::max(made.problem.least_duration, made.problem.hold);
  }
  return made;
}

}  // namespace gearshift

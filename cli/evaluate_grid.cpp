#include "cli/evaluate_grid.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <stdexcept>

#include "boards/board_model.h"
#include "boards/sysroot.h"
#include "cli/evaluate_run.h"
#include "cli/flag_value.h"
#include "cli/policy_transfer.h"
#include "cli/prior_tables.h"
#include "cli/profile_files.h"
#include "cli/select_board.h"
#include "cli/simulated_costs.h"
#include "cli/simulated_problem.h"
#include "cli/tell.h"
#include "evaluation/fingerprint.h"
#include "evaluation/online_row.h"
#include "evaluation/sub_grid.h"
#include "limits/operator_limit.h"
#include "policies/lua/lua_policy.h"
#include "trace/profile_csv.h"
#include "trace/suspect_cells.h"

namespace gearshift {
namespace {

std::uint64_t text_print(const std::vector<const Profile*>& profiles) {
  Fingerprint print;
  for (const Profile* profile : profiles) print.add(format_profiles({profile, 1}));
  return print.value();
}

// Every setting that has no timed cell gets the one that a search meets there, so that a choice and
// the optimum are judged on the same truth.
Profile filled(const Profile& measured, const CostSource& costs) {
  Profile truth(measured.knobs());
  truth.device = measured.device;
  truth.workload = measured.workload;
  truth.kind = measured.kind;
  for (const ProfileCell& cell : measured.cells()) {
    if (cell.timed()) truth.add(cell);
  }
  for (const PowerMode& mode : unmeasured_order(measured.knobs())) {
    for (const std::int32_t batch_size : measured.batch_sizes()) {
      if (truth.find(mode, batch_size) != nullptr) continue;
      const auto cost = costs.cost(mode, batch_size);
      if (cost) truth.add({mode, batch_size, cost->minibatch_ms, cost->power_w, {}});
    }
  }
  return truth;
}

std::size_t timed_count(const Profile& profile) {
  const std::vector<ProfileCell>& cells = profile.cells();
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(), [](const ProfileCell& cell) { return cell.timed(); }));
}

// Policies choose among all combinations of the values, and may give up where most are refused.
void tell_refused(const Profile& profile, std::size_t measured, const std::string& path) {
  const std::size_t settings = bounded_mode_count(profile.knobs()) * profile.batch_sizes().size();
  if (measured == settings) return;
  tell(stderr,
       "{}: {} of {} settings of {} have a cell; the others are refused, --missing nearest fills "
       "them\n",
       path, measured, settings, profile.workload);
}

// Of the truth's cells, those that a line means, and where gaps have the nearest cell those that
// stand for one that a line means.
std::vector<bool> suspects_of(const Profile& measured, const Profile& truth,
                              const ProfileCosts& costs, Missing missing,
                              const std::vector<SuspectCell>& listed) {
  std::vector<bool> suspect = suspects_in(truth, listed);
  if (missing != Missing::nearest) return suspect;
  const std::vector<bool> sources = suspects_in(measured, listed);
  for (std::size_t i = 0; i < suspect.size(); ++i) {
    const ProfileCell& cell = truth.cells()[i];
    const ProfileCell* source = measured.find(cell.mode, cell.batch_size);
    if (source == nullptr || !source->timed()) source = &costs.nearest(cell.mode, cell.batch_size);
    suspect[i] = suspect[i] || sources[static_cast<std::size_t>(source - measured.cells().data())];
  }
  return suspect;
}

// Settings without a cell are refused and never measured.
std::vector<std::uint32_t> cells_of(const std::vector<Setting>& settings, const Profile& profile) {
  std::vector<std::uint32_t> cells;
  for (const Setting& setting : settings) {
    const ProfileCell* cell = profile.find(setting.mode, setting.batch_size[index(profile.kind)]);
    if (cell == nullptr) continue;
    cells.push_back(static_cast<std::uint32_t>(cell - profile.cells().data()));
  }
  return cells;
}

}  // namespace

EvaluateGrid::EvaluateGrid(const EvaluateOptions& options)
    : priors_(options.prior, options.own_prior),
      effects_(flag_value("--effects", effects_of(options), parse_effects)),
      most_measurements_(options.probes),
      measurements_(options.problem == "online" ? options.measurements : 0) {
  if (!options.board.empty()) {
    board_ = std::make_unique<BoardDescription>(select_board(options.board, Sysroot("/")));
  }
  grid_.policies = read_contestants(options.policy);
  grid_.problems = make_problems(options);
  for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) grid_.seeds.push_back(seed);
  for (const std::string& path : options.profile) add_profiles(options, path);
  std::vector<const Profile*> judged;
  for (Bench& bench : benches_) {
    judged.push_back(bench.profile.get());
    bench.priors = priors_.of({bench.profile.get()});
  }
  for (const std::string& warning : priors_.warnings(judged)) {
    tell(stderr, "gearshift evaluate: {}\n", warning);
  }
  if (!options.suspect.empty()) mark_suspects(options);
  grid_.conditions = fmt::format(
      "effects {}, missing {}, probes {}, measurements {}, priors {:016x}, own {}, "
      "reference {:016x}, program {}",
      effects_of(options), options.missing, options.probes, measurements_,
      text_print(priors_.all()), options.own_prior.size(), reference_fingerprint(), this_program());
}

void EvaluateGrid::add_profiles(const EvaluateOptions& options, const std::string& path) {
  std::string others;
  bool found = false;
  for (const Profile& profile : with_rows(read_profiles(path), path)) {
    if (options.problem == "online" || kind_name(profile.kind) == options.problem) {
      add_workload(profile, options, path);
      found = true;
    } else {
      others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", profile.workload,
                            kind_name(profile.kind));
    }
  }
  if (!found) {
    throw std::runtime_error(fmt::format("--profile {}: has no {} workload; it has {}", path,
                                         options.problem, others.empty() ? "none" : others));
  }
}

void EvaluateGrid::add_workload(const Profile& whole, const EvaluateOptions& options,
                                const std::string& path) {
  Bench bench;
  bench.profile =
      std::make_unique<Profile>(sub_grid(whole, keep_values(whole.knobs(), options.keep)));
  require_few_modes(bench.profile->knobs(), path, whole.workload);
  bench.board = board_ ? board_model(board_.get()) : built_in_board_model(whole.device);
  const Missing missing = parse_missing(options.missing);
  if (missing == Missing::model) {
    bench.model = filling_costs(*board_, *bench.profile, options.model);
  }
  bench.costs = std::make_unique<ProfileCosts>(*bench.profile, missing, bench.model.get());
  bench.truth = std::make_unique<Profile>(
      missing == Missing::refuse ? *bench.profile : filled(*bench.profile, *bench.costs));
  const std::size_t measured = timed_count(*bench.profile);
  if (missing == Missing::refuse) tell_refused(*bench.profile, measured, path);
  const std::string name = options.problem == "online"
                               ? fmt::format("{} {}", whole.workload, kind_name(whole.kind))
                               : whole.workload;
  std::vector<std::string> taken;
  for (const Target& target : grid_.workloads) taken.push_back(target.name);
  Target target{.name = free_name(taken, name, whole.device),
                .optimum = OptimumTable(*bench.truth, unmeasured_order(bench.truth->knobs()))};
  if (missing != Missing::refuse) {
    target.filled = bench.truth->cells().size() - measured;
    target.filled_from =
        missing == Missing::model ? "by the board's model" : "from the nearest cell";
  }
  grid_.workloads.push_back(std::move(target));
  if (options.problem == "online") with_reference({}, *bench.truth);
  benches_.push_back(std::move(bench));
}

// Costs and cases are the same; what they are judged against is not.
void EvaluateGrid::mark_suspects(const EvaluateOptions& options) {
  std::vector<SuspectCell> listed;
  for (const std::string& path : options.suspect) {
    for (SuspectCell& cell : read_suspect_cells(path)) listed.push_back(std::move(cell));
  }
  all_cells_ = grid_;
  for (std::size_t i = 0; i < benches_.size(); ++i) {
    const Profile& truth = *benches_[i].truth;
    std::vector<bool> suspect = suspects_of(*benches_[i].profile, truth, *benches_[i].costs,
                                            parse_missing(options.missing), listed);
    tell(stderr, "{}: {} of {} cells are suspect\n", grid_.workloads[i].name,
         std::count(suspect.begin(), suspect.end(), true), suspect.size());
    grid_.workloads[i].optimum =
        OptimumTable(truth, unmeasured_order(truth.knobs()), std::move(suspect));
  }
}

Trial EvaluateGrid::run(const Case& one) const {
  const Bench& bench = benches_[one.workload];
  const Profile& profile = *bench.profile;
  SimulatedTask task;
  task.name = profile.workload;
  task.kind = profile.kind;
  task.batch_sizes = profile.batch_sizes();
  task.batch_size = task.batch_sizes.front();
  task.costs = bench.costs.get();
  SimulationProblem problem;
  problem.board = profile.device;
  problem.knobs = profile.knobs();
  problem.tasks = {task};
  problem.goal = grid_.problems[one.problem].goal;
  if (measurements_ > 0) {
    problem.goal = with_reference(problem.goal, *bench.truth);
    problem.stop_after = measurements_;
    problem.tasks[0].batch_size = task.batch_sizes.back();  // the reference's
    // The slowest measurement takes the meter's time, and a workload's to follow.
    problem.most_duration = measurements_ * std::chrono::minutes(3);
  }
  problem.effects = effects_;
  problem.prior = bench.priors;
  problem.seed = grid_.seeds[one.seed];
  problem.most_measurements = most_measurements_;
  LuaPolicy policy(grid_.policies[one.policy].script, grid_.policies[one.policy].text, bench.board,
                   &transfer_);
  OperatorLimit limit(problem.goal.power_mw);
  const SimulationResult result = simulate(problem, policy, limit);
  return {.held = result.setting,
          .infeasible = result.ending == Ending::safe && result.policy_errors == 0,
          .modes_profiled = static_cast<std::uint32_t>(result.measured.size()),
          .probes_over_cap = result.measured_over_cap,
          .filled_nearest = result.filled_nearest,
          .filled_model = result.filled_model,
          .refused = result.refused,
          .over_cap_j = result.energy.over_cap_j,
          .search_s = seconds(result.search),
          .search_j = result.search_j,
          .failure = result.policy_error,
          .sequence = cells_of(result.sequence, *bench.truth),
          .drifts = result.drifts,
          .reference = result.reference};
}

}  // namespace gearshift

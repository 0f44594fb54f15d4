#include "cli/evaluate_concurrent.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "boards/board_model.h"
#include "cli/commands.h"
#include "cli/evaluate_progress.h"
#include "cli/evaluate_requests.h"
#include "cli/evaluate_run.h"
#include "cli/flag_value.h"
#include "cli/policy_transfer.h"
#include "cli/prior_tables.h"
#include "cli/profile_files.h"
#include "cli/simulated_costs.h"
#include "cli/simulated_problem.h"
#include "cli/tell.h"
#include "cli/written_output.h"
#include "evaluation/concurrent_report.h"
#include "evaluation/fingerprint.h"
#include "evaluation/separate_clocks.h"
#include "evaluation/sub_grid.h"
#include "limits/operator_limit.h"
#include "policies/lua/lua_policy.h"
#include "trace/profile_csv.h"
#include "trace/suspect_cells.h"

namespace gearshift {
namespace {

// A training and an inference workload on the modes that both were measured in.
struct Pair {
  std::unique_ptr<Profile> train, infer;
  std::unique_ptr<CostSource> train_costs, infer_costs;
  std::unique_ptr<ConcurrentTable> table;
  std::vector<const Profile*> priors;
  std::int32_t train_batch = 0;
};

std::vector<Profile> profiles_of(ProfileFiles& files, const std::vector<std::string>& paths,
                                 Kind kind, const std::string& option) {
  std::vector<Profile> found;
  for (const std::string& path : paths) {
    for (const Profile& profile : files.of(path)) {
      if (profile.kind == kind) found.push_back(profile);
    }
  }
  if (found.empty()) {
    throw std::runtime_error(
        fmt::format("{}: there is no {} workload in it", option, kind_name(kind)));
  }
  return found;
}

std::uint64_t print_of(const Profile& profile) {
  return Fingerprint().add(format_profiles({&profile, 1})).value();
}

class ConcurrentEvaluation {
 public:
  explicit ConcurrentEvaluation(const EvaluateOptions& options)
      : priors_(options.prior, options.own_prior),
        effects_(flag_value("--effects", effects_of(options), parse_effects)),
        most_measurements_(options.probes) {
    grid_.policies = read_contestants(options.policy);
    grid_.problems = make_problems(options);
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) grid_.seeds.push_back(seed);
    for (const std::string& path : options.suspect) {
      for (SuspectCell& cell : read_suspect_cells(path)) suspects_.push_back(std::move(cell));
    }
    std::string prints;
    std::vector<const Profile*> judged;
    ProfileFiles files;
    for (const Profile& train : profiles_of(files, options.profile, Kind::train, "--profile")) {
      for (const Profile& infer :
           profiles_of(files, options.infer_profile, Kind::infer, "--infer-profile")) {
        add_pair(train, infer, options.keep);
        prints += fmt::format(" {:016x}", print_of(*pairs_.back().train));
        judged.insert(judged.end(), {pairs_.back().train.get(), pairs_.back().infer.get()});
      }
    }
    for (const std::string& warning : priors_.warnings(judged)) {
      tell(stderr, "gearshift evaluate: {}\n", warning);
    }
    for (const Profile* prior : priors_.all()) prints += fmt::format(" {:016x}", print_of(*prior));
    grid_.conditions = fmt::format(
        "concurrent, effects {}, probes {}, tables{}, own {}, reference {:016x}, program {}",
        effects_of(options), options.probes, prints, options.own_prior.size(),
        reference_fingerprint(), this_program());
  }

  const Grid& grid() const { return grid_; }
  bool has_suspects() const { return !suspects_.empty(); }
  Trial run(const Case& one) const;
  ConcurrentResults judged(const std::vector<Trial>& trials, bool suspects_too) const {
    ConcurrentResults results;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const Case one = grid_.at(i);
      results.rows.push_back(
          judge_concurrent(grid_, *pairs_[one.workload].table, one, trials[i], suspects_too));
    }
    results.standings = summarise_concurrent(grid_, results.rows);
    return results;
  }
  // Every row gets what clocks of their own would come to, where a change of them takes so long.
  void add_separate_clocks(const std::vector<double>& switch_ms, ConcurrentResults& results) const;
  // Solved rows get what becomes of requests. False where a signal stopped it.
  bool hold_beside_requests(RequestChecks& checks, ConcurrentResults& results) const;

 private:
  void add_pair(const Profile& train, const Profile& infer, const std::vector<std::string>& keep);

  Grid grid_;
  std::vector<Pair> pairs_;
  EvaluationPriors priors_;
  std::vector<SuspectCell> suspects_;
  ReferenceTransfer transfer_ = policy_transfer();
  Effects effects_;
  std::uint32_t most_measurements_ = 0;
};

void ConcurrentEvaluation::add_pair(const Profile& train, const Profile& infer,
                                    const std::vector<std::string>& keep) {
  const KnobSpace knobs = keep_values(common_knobs(train, infer), keep);
  require_few_modes(knobs, "--profile and --infer-profile",
                    fmt::format("{} + {}", train.workload, infer.workload));
  Pair pair;
  pair.train = std::make_unique<Profile>(sub_grid(train, knobs));
  pair.infer = std::make_unique<Profile>(sub_grid(infer, knobs));
  pair.train_costs = std::make_unique<ProfileCosts>(*pair.train, Missing::refuse, nullptr);
  pair.infer_costs = std::make_unique<ProfileCosts>(*pair.infer, Missing::refuse, nullptr);
  pair.train_batch = usual_train_batch(pair.train->batch_sizes());
  std::vector<bool> suspect_train, suspect_infer;
  if (!suspects_.empty()) {
    suspect_train = suspects_in(*pair.train, suspects_);
    suspect_infer = suspects_in(*pair.infer, suspects_);
  }
  pair.table = std::make_unique<ConcurrentTable>(*pair.train, *pair.infer, pair.train_batch,
                                                 suspect_train, suspect_infer);
  pair.priors = priors_.of({&train, &infer});
  std::vector<std::string> taken;
  for (const Target& target : grid_.workloads) taken.push_back(target.name);
  const std::string name =
      free_name(taken, fmt::format("{} + {}", train.workload, infer.workload), train.device);
  const auto& cells = pair.table->cells();
  tell(stderr, "{}: {} settings, {} of them suspect\n", name, cells.size(),
       std::count_if(cells.begin(), cells.end(),
                     [](const ConcurrentCell& cell) { return !cell.trusted; }));
  grid_.workloads.push_back(
      {.name = name, .optimum = OptimumTable(*pair.infer), .beside = print_of(*pair.train)});
  pairs_.push_back(std::move(pair));
}

Trial ConcurrentEvaluation::run(const Case& one) const {
  const Pair& pair = pairs_[one.workload];
  SimulationProblem problem;
  problem.board = pair.infer->device;
  problem.knobs = pair.infer->knobs();
  problem.sharing = Sharing::interleaved;
  problem.tasks = {{.name = pair.train->workload,
                    .kind = Kind::train,
                    .batch_sizes = {pair.train_batch},
                    .batch_size = pair.train_batch,
                    .costs = pair.train_costs.get()},
                   {.name = pair.infer->workload,
                    .kind = Kind::infer,
                    .batch_sizes = pair.infer->batch_sizes(),
                    .batch_size = pair.infer->batch_sizes().front(),
                    .costs = pair.infer_costs.get()}};
  problem.goal = grid_.problems[one.problem].goal;
  problem.effects = effects_;
  problem.prior = pair.priors;
  problem.seed = grid_.seeds[one.seed];
  problem.most_measurements = most_measurements_;
  LuaPolicy policy(grid_.policies[one.policy].script, grid_.policies[one.policy].text,
                   built_in_board_model(problem.board), &transfer_);
  OperatorLimit limit(problem.goal.power_mw);
  const SimulationResult result = simulate(problem, policy, limit);
  std::vector<PowerMode> modes;
  for (const Setting& setting : result.measured) {
    if (std::find(modes.begin(), modes.end(), setting.mode) == modes.end()) {
      modes.push_back(setting.mode);
    }
  }
  return {.held = result.setting,
          .infeasible = result.ending == Ending::safe && result.policy_errors == 0,
          .modes_profiled = static_cast<std::uint32_t>(result.measured.size()),
          .probes_over_cap = result.measured_over_cap,
          .refused = result.refused,
          .over_cap_j = result.energy.over_cap_j,
          .search_s = seconds(result.search),
          .search_j = result.search_j,
          .failure = result.policy_error,
          .power_modes = static_cast<std::uint32_t>(modes.size())};
}

void ConcurrentEvaluation::add_separate_clocks(const std::vector<double>& switch_ms,
                                               ConcurrentResults& results) const {
  if (switch_ms.empty()) return;
  std::vector<SeparateClocks> clocks;
  for (const Pair& pair : pairs_) clocks.emplace_back(pair.infer->knobs(), *pair.table);
  for (ConcurrentRow& row : results.rows) {
    const Problem& problem = grid_.problems[row.of.problem];
    for (const double ms : switch_ms) {
      row.separate.push_back({ms, clocks[row.of.workload].best(problem, ms)});
    }
  }
}

bool ConcurrentEvaluation::hold_beside_requests(RequestChecks& checks,
                                                ConcurrentResults& results) const {
  if (checks.empty()) return true;
  EvaluateProgress progress(true, "choices held beside requests");
  std::vector<ConcurrentRow*> solved;
  for (ConcurrentRow& row : results.rows) {
    if (row.solved) solved.push_back(&row);
  }
  std::size_t done = 0;
  while (done < solved.size() && !progress.stopped()) {
    ConcurrentRow& row = *solved[done++];
    const Pair& pair = pairs_[row.of.workload];
    const Setting& held = row.trial.held;
    row.requests = checks.of(
        {.infer = pair.infer.get(),
         .mode = held.mode,
         .infer_batch = held.batch_size[index(Kind::infer)],
         .train_minibatch_ms = pair.train->find(held.mode, pair.train_batch)->minibatch_ms,
         .goal = grid_.problems[row.of.problem].goal,
         .seed = row.of.seed});
    progress.progress(done, 0, solved.size());
  }
  progress.end();
  return done == solved.size();
}

}  // namespace

int evaluate_concurrent(const EvaluateOptions& options, const std::string& command) {
  constexpr double kUsualJitter = 0.03;
  const double jitter = flag_value("--effects", effects_of(options), parse_effects).jitter;
  RequestChecks checks(options.requests, options.minutes, jitter > 0 ? jitter : kUsualJitter);
  std::vector<double> switch_ms;
  if (!options.switch_ms.empty()) switch_ms = parse_numbers("--switch-ms", options.switch_ms);
  const ConcurrentEvaluation made(options);
  const Grid& grid = made.grid();
  const auto trials = run_or_resume(options, grid, [&](const Case& one) { return made.run(one); });
  if (!trials) return kExitFailed;
  ConcurrentResults results = made.judged(*trials, false);
  if (!made.hold_beside_requests(checks, results)) {
    tell_stopped(options, trials->size(), trials->size());
    return kExitFailed;
  }
  made.add_separate_clocks(switch_ms, results);
  std::optional<ConcurrentResults> all_cells;
  if (made.has_suspects()) all_cells = made.judged(*trials, true);
  const ConcurrentResults* all = all_cells ? &*all_cells : nullptr;
  if (!options.json.empty()) write_output(options.json, concurrent_json(grid, results, all));
  if (!options.csv.empty()) write_output(options.csv, concurrent_csv(grid, results, all));
  if (!options.html.empty()) {
    write_output(options.html,
                 concurrent_html(grid, results, all, provenance_of(options, command)));
  }
  tell(rest_of_answer({options.json, options.csv, options.html}), "{}",
       concurrent_text(grid, results, all));
  report_failures(grid, *trials);
  return kExitOk;
}

}  // namespace gearshift

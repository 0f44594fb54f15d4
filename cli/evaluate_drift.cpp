#include "cli/evaluate_drift.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "boards/board_model.h"
#include "cli/commands.h"
#include "cli/evaluate_run.h"
#include "cli/policy_transfer.h"
#include "cli/prior_tables.h"
#include "cli/simulated_problem.h"
#include "cli/tell.h"
#include "cli/written_output.h"
#include "evaluation/drift_report.h"
#include "evaluation/statistics.h"
#include "limits/operator_limit.h"
#include "limits/schedule_limit.h"
#include "policies/lua/lua_policy.h"
#include "simulator/exhaustive_optimum.h"
#include "simulator/simulation.h"

namespace gearshift {
namespace {

constexpr double kNear = 1.05;       // times the optimum
constexpr std::size_t kNewest = 20;  // measurements that tell what a script that never returns does
// By then every search that ends has ended, and what it chose is held.
constexpr Duration kBefore = std::chrono::hours(1);
constexpr Duration kAfter = std::chrono::hours(1);
constexpr Duration kDay = std::chrono::hours(24);

// Counts measurements from an alarm, or another time, to the first that is near the optimum.
class DriftWatch : public Recorder {
 public:
  // `after` is the problem as it is after the change.
  DriftWatch(const SimulationProblem& after, Time change) : after_(after), change_(change) {
    optimum_ = exhaustive_optimum(after);
  }
  void tick(const TickInputs&) override {}
  void note(const Note& note) override {
    if (note.type == NoteType::drift) {
      if (note.time < change_ || alarm_ || at_once_) {
        ++false_alarms;
      } else {
        alarm_ = note.time;
      }
      return;
    }
    if (note.type == NoteType::hold || note.type == NoteType::safe) newest_.clear();
    if (note.type == NoteType::observation) {
      if (newest_.size() == kNewest) newest_.pop_front();
      newest_.push_back(note.observation->setting);
    }
    const bool counts = at_once_ ? note.time >= change_ : alarm_.has_value();
    if (!counts || within) return;
    if (note.type == NoteType::observation) {
      // What shows the change is known when the alarm comes.
      if (at_once_ || note.time > *alarm_) ++measured_;
      if (is_near(note.observation->setting)) within = measured_;
    } else if (note.type == NoteType::hold && is_near(*note.setting)) {
      within = measured_;  // of what was known before
    }
  }
  void status(const Status& status) override {
    if (status.time < change_) {
      repeats_before_ = status.repeats;
      before_ = status.setting;
    }
    if (alarm_ && !noticed) noticed = status.repeats - repeats_before_;
  }
  // From the change on, not from an alarm: an alarm would be false.
  void count_at_once() { at_once_ = true; }
  std::optional<double> excess(const Setting& setting) const {
    const SimulatedTask& task = after_.tasks.front();
    const std::int32_t batch_size = setting.batch_size[index(task.kind)];
    const auto cost = task.costs->cost(setting.mode, batch_size);
    if (!cost || !optimum_) return std::nullopt;
    const auto value = judged(after_.goal, task.kind, batch_size, *cost);
    return value ? std::optional(*value / optimum_->value - 1) : std::nullopt;
  }

  // Of what is held; of a script that never returns, the median of what it measured last.
  std::optional<double> excess_at_end(const Setting& in_force) const {
    if (newest_.size() < kNewest) return excess(in_force);
    std::vector<double> all;
    for (const Setting& setting : newest_) all.push_back(excess(setting).value_or(HUGE_VAL));
    const double middle = median(std::move(all));
    return std::isfinite(middle) ? std::optional(middle) : std::nullopt;
  }

  const Setting& before() const { return before_; }

  std::optional<std::uint32_t> noticed;
  std::optional<std::uint32_t> within;  // measurements to the first that is near
  std::uint32_t false_alarms = 0;

 private:
  bool is_near(const Setting& setting) const {
    const auto over = excess(setting);
    return over && 1 + *over <= kNear;
  }

  const SimulationProblem& after_;
  Time change_;
  std::optional<ExhaustiveOptimum> optimum_;
  std::optional<Time> alarm_;
  bool at_once_ = false;
  std::uint32_t measured_ = 0;
  std::uint32_t repeats_before_ = 0;
  Setting before_;              // in force at the change
  std::deque<Setting> newest_;  // measured since something was last held
};

// The world has one workload at a time: each file has one to begin with, or to change to.
void check_one_workload_each(ProfileFiles& files, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::vector<std::string> training, others;
    for (const Profile& profile : files.of(path)) {
      (profile.kind == Kind::train ? training : others).push_back(profile.workload);
    }
    if (training.size() == 1) continue;
    throw std::runtime_error(
        training.empty()
            ? fmt::format("--profile {}: has no train workload; it has {} (infer)", path,
                          fmt::join(others, ", "))
            : fmt::format("--profile {}: has {} train workloads ({}), and --problem drift takes "
                          "one a file: the first file's, which becomes the second's; give each a "
                          "file of its own, with the header and its lines",
                          path, training.size(), fmt::join(training, ", ")));
  }
}

// Of a file that has one.
const Profile& training_table(ProfileFiles& files, const std::string& path) {
  const auto& tables = files.of(path);
  return *std::find_if(tables.begin(), tables.end(),
                       [](const Profile& table) { return table.kind == Kind::train; });
}

constexpr std::string_view kBecomes = "workload:";  // a fault: another profile's

struct Change {
  std::string name;
  std::string fault;  // empty: none
};

class DriftEvaluation {
 public:
  // Of options that check_evaluate_options lets pass.
  explicit DriftEvaluation(const EvaluateOptions& options)
      : options_(options), priors_(options.prior, {}) {
    check_one_workload_each(*files_, options.profile);
    const std::vector<double> caps_w = parse_numbers("--caps", options.caps);
    caps_mw_[0] = std::llround(1e3 * caps_w.front());
    caps_mw_[1] = std::llround(1e3 * caps_w.back());
    changes_.push_back({"throttle", "throttle:0.8"});
    if (options.profile.size() == 2) {
      changes_.push_back({"workload", std::string(kBecomes) + options.profile[1]});
    }
    if (caps_w.size() == 2) changes_.push_back({"cap", ""});
    changes_.push_back({"none", ""});
  }

  std::vector<DriftRow> run() const {
    const std::vector<Contestant> contestants = read_contestants(options_.policy);
    const std::size_t seeds = options_.seeds;
    std::vector<DriftRow> rows(contestants.size() * changes_.size() * seeds);
    // Seeds change first, then changes.
    run_rows(options_, rows.size(), [&](std::size_t i) {
      const std::size_t group = i / seeds;
      rows[i] = row(contestants[group / changes_.size()], changes_[group % changes_.size()],
                    i % seeds + 1);
    });
    return rows;
  }

 private:
  // The workload of the first profile; `fault` may be empty. Of the priors a policy sees what is of
  // no workload that it meets.
  SimulatedProblem problem(const std::string& fault, std::uint64_t seed) const {
    SimulateOptions one;
    one.files = files_;
    one.profile = options_.profile.front();
    one.keep = options_.keep;
    one.effects = effects_of(options_);
    one.missing = options_.missing;
    one.board = options_.board;
    one.model = options_.model;
    one.probes = options_.probes;
    one.seed = seed;
    if (!fault.empty()) one.faults = {fault};
    SimulatedProblem made = make_simulated_problem(one);
    made.problem.goal.power_mw = caps_mw_[0];
    const Profile& first = training_table(*files_, options_.profile.front());
    const bool becomes = fault.starts_with(kBecomes);
    const Profile& last = becomes ? training_table(*files_, options_.profile.back()) : first;
    made.problem.prior = priors_.of({&first, &last});
    return made;
  }

  SimulationResult simulated(SimulatedProblem& made, const Contestant& contestant,
                             LimitSource& limit, DriftWatch& watch, Duration duration) const {
    LuaPolicy policy(
        contestant.script, contestant.text,
        made.board ? board_model(made.board.get()) : built_in_board_model(made.problem.board),
        &transfer_);
    made.problem.least_duration = made.problem.most_duration = duration;
    return simulate(made.problem, policy, limit, {.recorder = &watch});
  }

  // By what the change does to the costs of a setting.
  static std::optional<double> shift(const SimulatedTask& task, const Setting& setting) {
    const std::int32_t batch_size = setting.batch_size[index(task.kind)];
    const auto before = task.costs->cost(setting.mode, batch_size);
    const auto after = task.costs_at(Time{} + kBefore).cost(setting.mode, batch_size);
    if (!before || !after) return std::nullopt;
    return std::max(std::abs(after->minibatch_ms / before->minibatch_ms - 1),
                    std::abs(after->power_w / before->power_w - 1));
  }

  DriftRow row(const Contestant& contestant, const Change& change, std::uint64_t seed) const {
    DriftRow row{.policy = contestant.name, .change = change.name, .seed = seed};
    const bool drifts = !change.fault.empty();
    const bool steps = change.name == "cap";
    // The world after the change, all the time.
    SimulatedProblem after = problem(change.fault, seed);
    if (steps) after.problem.goal.power_mw = caps_mw_[1];
    for (SimulatedTask& task : after.problem.tasks) {
      task.costs = &task.costs_at(Time{});
      task.changes.clear();
    }
    const Duration before = drifts || steps ? kBefore : kDay;
    const Duration duration = drifts || steps ? kBefore + kAfter : kDay;
    SimulatedProblem made = problem(
        drifts ? change.fault + "@" + std::to_string(before.count() / 1'000'000'000) + "s" : "",
        seed);
    DriftWatch watch(after.problem, Time{} + before);
    if (steps) watch.count_at_once();
    ScheduleLimit limit({{{}, caps_mw_[0]}, {before, caps_mw_[steps ? 1 : 0]}});
    const SimulationResult result = simulated(made, contestant, limit, watch, duration);
    row.hours = seconds(result.duration) / 3600;
    row.false_alarms = watch.false_alarms;
    row.excess = watch.excess_at_end(result.setting);
    row.failure = result.policy_error;
    if (!drifts && !steps) return row;
    row.noticed = steps ? 0 : watch.noticed;
    if (drifts) row.shift = shift(made.problem.tasks.front(), watch.before());
    row.measurements = watch.within;
    DriftWatch scratch(after.problem, Time{});
    scratch.count_at_once();
    OperatorLimit fixed(after.problem.goal.power_mw);
    const SimulationResult anew = simulated(after, contestant, fixed, scratch, kAfter);
    row.from_scratch = scratch.within;
    if (row.failure.empty()) row.failure = anew.policy_error;
    return row;
  }

  const EvaluateOptions& options_;
  const std::shared_ptr<ProfileFiles> files_ = std::make_shared<ProfileFiles>();
  const EvaluationPriors priors_;
  std::int64_t caps_mw_[2] = {0, 0};
  std::vector<Change> changes_;
  ReferenceTransfer transfer_ = policy_transfer();
};

}  // namespace

int evaluate_drift(const EvaluateOptions& options) {
  const std::vector<DriftRow> rows = DriftEvaluation(options).run();
  if (!options.json.empty()) write_output(options.json, drift_json(rows));
  tell(rest_of_answer({options.json, options.csv, options.html}), "{}", drift_text(rows));
  std::vector<ScriptEnd> ends;
  for (const DriftRow& row : rows) ends.push_back({row.policy, row.failure});
  report_failures(ends);
  return kExitOk;
}

}  // namespace gearshift

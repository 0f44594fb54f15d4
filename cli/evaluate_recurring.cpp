#include "cli/evaluate_recurring.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/evaluate_run.h"
#include "cli/profile_files.h"
#include "cli/tell.h"
#include "cli/written_output.h"
#include "evaluation/recurring_report.h"
#include "policies/lua/lua_policy.h"
#include "trace/epochs_csv.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

struct Tables {
  std::vector<Profile> profiles;
  std::vector<EpochsToTarget> epochs;
};

Tables read_tables(const EvaluateOptions& options) {
  Tables tables;
  for (const std::string& path : options.profile) {
    for (Profile& profile : with_rows(read_profiles(path), path)) {
      if (profile.kind == Kind::train) tables.profiles.push_back(std::move(profile));
    }
  }
  tables.epochs = read_epochs(options.epochs);
  return tables;
}

// Every job that was asked for is one: with a workload and a batch size that both kinds of tables
// have. A device may lack the memory for it, so one profile suffices.
void check_jobs(const Tables& tables, const std::vector<std::string>& jobs) {
  std::vector<std::string> named;
  for (const std::string& text : jobs) {
    const JobTerms terms = parse_job_terms(text);
    const auto refuse = [&](const std::string& why) {
      throw std::invalid_argument(fmt::format("--job '{}': {}", text, why));
    };
    if (std::find(named.begin(), named.end(), terms.workload) != named.end()) {
      refuse("another --job has that workload already; give one a workload");
    }
    named.push_back(terms.workload);
    std::vector<std::string> workloads;
    std::set<std::int32_t> profiled, recorded;
    for (const Profile& profile : tables.profiles) {
      workloads.push_back(profile.workload);
      if (profile.workload != terms.workload) continue;
      for (const std::int32_t size : profile.batch_sizes()) profiled.insert(size);
    }
    if (profiled.empty()) {
      refuse(
          fmt::format("no --profile has that workload; they have {}", fmt::join(workloads, ", ")));
    }
    for (const EpochsToTarget& row : tables.epochs) {
      const bool counts = row.workload() == terms.workload &&
                          row.target_metric == terms.target_metric &&
                          profiled.contains(row.batch_size);
      if (counts) recorded.insert(row.batch_size);
    }
    if (!recorded.empty() && !recorded.contains(terms.batch_size)) {
      refuse(fmt::format("no batch of {} in --profile and --epochs, which have {}",
                         terms.batch_size, fmt::join(recorded, ", ")));
    }
  }
}

// What --job says of the workload; nullopt where it names others.
std::optional<JobTerms> named_terms(const std::string& workload,
                                    const std::vector<std::string>& jobs) {
  for (const std::string& text : jobs) {
    JobTerms terms = parse_job_terms(text);
    if (terms.workload == workload) return terms;
  }
  return std::nullopt;
}

// Those of the profile that have recorded runs, lowest first.
std::vector<std::int32_t> recorded_batch_sizes(const Profile& profile, const Tables& tables) {
  std::vector<std::int32_t> recorded;
  for (const std::int32_t batch_size : profile.batch_sizes()) {
    const auto is_of = [&](const EpochsToTarget& row) {
      return row.batch_size == batch_size && row.workload() == profile.workload;
    };
    if (std::any_of(tables.epochs.begin(), tables.epochs.end(), is_of)) {
      recorded.push_back(batch_size);
    }
  }
  return recorded;
}

// Of the workloads that --job names; without it, of those that have recorded runs, with what is
// usual. Tells on standard error which of these have no usual target.
std::deque<RecurringJob> make_jobs(const Tables& tables, const EvaluateOptions& options) {
  check_jobs(tables, options.job);
  std::deque<RecurringJob> jobs;
  std::vector<std::string> without_target;
  for (const Profile& profile : tables.profiles) {
    std::optional<JobTerms> terms = named_terms(profile.workload, options.job);
    if (options.job.empty()) {
      const std::vector<std::int32_t> recorded = recorded_batch_sizes(profile, tables);
      if (recorded.empty()) continue;
      terms = usual_terms(profile.workload, tables.epochs, recorded);
      if (!terms) {
        without_target.push_back(fmt::format(
            "{0} {1}: no target is always reached by half of its batch sizes; name it with "
            "--job {1},TARGET,BATCH,MOST_EPOCHS",
            profile.device, profile.workload));
      }
    }
    if (terms) jobs.push_back(make_recurring_job(profile, tables.epochs, *terms, options.eta));
  }
  if (jobs.empty() && !without_target.empty()) {
    throw std::runtime_error(fmt::format("{}", fmt::join(without_target, "\n")));
  }
  if (jobs.empty()) {
    throw std::runtime_error(
        options.epochs + ": no workload of --profile is a job here; workloads must have the name " +
        "dataset-network-optimizer; or name the job with --job");
  }
  for (const std::string& text : without_target) tell(stderr, "gearshift evaluate: {}\n", text);
  return jobs;
}

}  // namespace

int evaluate_recurring(const EvaluateOptions& options) {
  const Tables tables = read_tables(options);
  const std::deque<RecurringJob> jobs = make_jobs(tables, options);
  const std::vector<Contestant> contestants = read_contestants(options.policy);
  const std::size_t seeds = options.seeds;
  std::vector<RecurringRow> rows(contestants.size() * jobs.size() * seeds);
  // Seeds change first, then jobs.
  run_rows(options, rows.size(), [&](std::size_t i) {
    const std::size_t group = i / seeds;
    const Contestant& contestant = contestants[group / jobs.size()];
    const RecurringJob& job = jobs[group % jobs.size()];
    const std::uint64_t seed = i % seeds + 1;
    LuaPolicy policy(contestant.script, contestant.text);
    rows[i] = {contestant.name, &job, seed,
               play(job, policy, {.beta = options.beta, .seed = seed})};
  });
  if (!options.json.empty()) write_output(options.json, recurring_json(rows));
  tell(rest_of_answer({options.json, options.csv, options.html}), "{}", recurring_text(rows));
  std::vector<ScriptEnd> ends;
  for (const RecurringRow& row : rows) ends.push_back({row.policy, row.trial.failure});
  report_failures(ends);
  return kExitOk;
}

}  // namespace gearshift

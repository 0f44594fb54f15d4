// A training job that recurs: every time, it trains until a target metric is reached, with a batch
// size and power limits that a policy chooses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/goal.h"
#include "controller/profile.h"
#include "trace/epochs_csv.h"

namespace gearshift {

// What has to be said of a job.
struct JobTerms {
  std::string workload;  // as profiles and EpochsToTarget name it
  double target_metric = 0;
  std::int32_t batch_size = 0;    // what people train it with
  std::uint32_t most_epochs = 0;  // a run that has not reached the target by then fails
};

// The terms of published evaluations of this problem, where `workload` is one of theirs. Else the
// highest target that runs of at least half of the batch sizes all reach, the batch size in the
// middle, and twice the epochs of the slowest run of those. Nullopt where no batch size always
// reaches any target.
std::optional<JobTerms> usual_terms(std::string_view workload, std::span<const EpochsToTarget> rows,
                                    std::span<const std::int32_t> batch_sizes);
// "WORKLOAD,TARGET,BATCH,MOST_EPOCHS". Throws std::runtime_error that names the text and the form.
JobTerms parse_job_terms(const std::string& text);

struct RecurringJob {
  JobTerms terms;  // batch_size is one of batch_sizes
  std::string device;
  KnobSpace knobs;
  std::vector<PowerMode> modes;           // of the profile, lowest first
  std::vector<std::int32_t> batch_sizes;  // those that both tables have, lowest first
  std::vector<std::vector<std::optional<std::uint32_t>>> runs;  // recorded, one list a batch size
  Goal goal;                                                    // Objective::target
  const Profile* profile = nullptr;                             // outlives the job

  // Null where epochs were not measured in this setting.
  const ProfileCell* cell(const PowerMode& mode, std::int32_t batch_size) const;
  // J; `cell` has an epoch.
  double epoch_cost_j(const ProfileCell& cell) const;
  // Of a job that is always run like this, until a run reaches the target: the mean cost of a run
  // over the share of runs that reach it; infinity where none does, or where there is no cell. J.
  double expected_cost_j(const PowerMode& mode, std::int32_t batch_size) const;
};

// The most-used terms of recurring jobs: eta weighs energy, and time is priced at the most that the
// device may draw, its highest power limit.
// Throws std::runtime_error where the profile has no epochs, no power limit or no batch size that
// `rows` have too, or more of these than kMaxBatchSizes, or where no setting ever reaches the
// target.
RecurringJob make_recurring_job(const Profile& profile, std::span<const EpochsToTarget> rows,
                                const JobTerms& terms, double eta);

// The setting of least expected cost, and that cost.
struct BestFixed {
  PowerMode mode;
  std::int32_t batch_size = 0;
  double cost_j = 0;
};
BestFixed best_fixed(const RecurringJob& job);

}  // namespace gearshift

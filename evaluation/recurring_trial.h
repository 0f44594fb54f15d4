// Plays a job's recurrences for a policy, and counts what all its runs cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/policy.h"
#include "evaluation/recurring_job.h"

namespace gearshift {

struct RecurringOptions {
  double beta =
      2;  // a run that has cost beta times the cheapest that reached the target is stopped
  std::uint64_t seed = 1;
};

// One recurrence, as it ended: the setting of its last epoch.
struct Recurrence {
  PowerMode mode;
  std::int32_t batch_size = 0;
  double cumulative_cost_j = 0;  // of all runs up to here
};

struct RecurringTrial {
  std::vector<Recurrence> recurrences;
  std::size_t runs = 0;
  std::size_t missed = 0;     // runs to the most epochs without the target
  std::size_t stopped = 0;    // runs that cost too much
  std::size_t abandoned = 0;  // runs the policy left for another batch size
  double cost_j = 0;          // of all epochs of all runs
  std::string failure;        // of the policy; empty where it did not fail
};

// The job recurs 2 |batch sizes| |modes| times.
std::size_t recurrence_count(const RecurringJob& job);

// A question of the policy, measure or remeasure alike, is an epoch of training, and its answer
// that epoch's cost. A run has one batch size: its first epoch chooses it, and a question with
// another one abandons the run. After a run that did not reach the target the job begins anew; all
// runs count. A setting that the policy returns is kept for all that is left. How many epochs a run
// needs is drawn from the recorded runs of its batch size. Equal inputs give equal trials.
// Where the policy fails, the lowest mode and the usual batch size are kept for all that is left.
// Where it takes 100 runs a recurrence, or asks for refused settings alone, the trial ends before
// its last recurrence. `job` is of make_recurring_job.
RecurringTrial play(const RecurringJob& job, Policy& policy, const RecurringOptions& options);

}  // namespace gearshift

#include "evaluation/recurring_trial.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace gearshift {
namespace {

constexpr std::size_t kMostRunsARecurrence = 100;
constexpr std::size_t kMostRefusals = 1'000'000;

std::mt19937_64 seeded(std::uint64_t seed, const RecurringJob& job) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a: std::hash differs between libraries
  for (const char c : job.device + ' ' + job.terms.workload) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)};
  return std::mt19937_64(sequence);
}

class Play {
 public:
  Play(const RecurringJob& job, Policy& policy, const RecurringOptions& options)
      : job_(job), policy_(policy), options_(options), random_(seeded(options.seed, job)) {}

  RecurringTrial run() {
    attach();
    Request request = policy_.start(context());
    const std::size_t count = recurrence_count(job_);
    while (trial_.recurrences.size() < count) {
      if (request.what == Request::What::failed) {
        fail(std::string(policy_.failure()));
        request = {Request::What::hold_safe, {}};
      }
      if (trial_.runs > kMostRunsARecurrence * count) {
        fail(too_many_runs());
        break;
      }
      if (refusals_ > kMostRefusals) {
        fail("the policy asks for refused settings alone");
        break;
      }
      const bool asks =
          request.what == Request::What::measure || request.what == Request::What::remeasure;
      if (request.what == Request::What::hold_safe) request.setting.mode = job_.modes.front();
      const Observation answer = train_epoch(request.setting);
      if (asks) request = policy_.resume(answer);
      while (!policy_.take_log().empty()) {
      }
    }
    return std::move(trial_);
  }

 private:
  void attach() {
    workload_.kind = Kind::train;
    workload_.managed = true;
    workload_.batch_size = job_.terms.batch_size;
    assert(job_.batch_sizes.size() <= kMaxBatchSizes);
    std::copy(job_.batch_sizes.begin(), job_.batch_sizes.end(), workload_.batch_sizes.begin());
    workload_.batch_size_count = static_cast<std::uint8_t>(job_.batch_sizes.size());
    workload_.name = BoundedText<64>(job_.terms.workload);
  }

  // The first failure is why there are others.
  void fail(const std::string& why) {
    if (trial_.failure.empty()) trial_.failure = why;
  }

  // One text for all seeds, so that a report tells it once: no counts.
  std::string too_many_runs() const {
    const std::string text = "the policy took 100 runs a recurrence";
    return 2 * trial_.abandoned > trial_.runs
               ? text + " and abandoned most; it must keep a batch size until the run ends"
               : text + "; it must choose batch sizes that reach the target";
  }

  PolicyContext context() const {
    PolicyContext context;
    context.goal = job_.goal;
    context.knobs = &job_.knobs;
    context.modes = job_.modes;
    context.workloads[index(Kind::train)] = &workload_;
    context.safe = job_.modes.front();
    context.seed = options_.seed;
    return context;
  }

  // Infinity for a run that never reaches the target.
  double draw_epochs(std::size_t batch) {
    const auto& recorded = job_.runs[batch];
    const std::uint64_t fair = UINT64_MAX - UINT64_MAX % recorded.size();
    std::uint64_t drawn = random_();
    while (drawn >= fair) drawn = random_();
    const auto& epochs = recorded[drawn % recorded.size()];
    return epochs ? *epochs : std::numeric_limits<double>::infinity();
  }

  Observation train_epoch(Setting setting) {
    std::int32_t& batch_size = setting.batch_size[index(Kind::train)];
    if (batch_size == 0) batch_size = job_.terms.batch_size;
    Observation answer;
    answer.setting = setting;
    const auto place = std::find(job_.batch_sizes.begin(), job_.batch_sizes.end(), batch_size);
    const ProfileCell* cell = job_.cell(setting.mode, batch_size);
    if (cell == nullptr || place == job_.batch_sizes.end()) {
      ++refusals_;
      answer.outcome = Outcome::refused;
      return answer;
    }
    if (epochs_ > 0 && batch_size != batch_size_) {
      ++trial_.abandoned;
      epochs_ = 0;
    }
    if (epochs_ == 0) {
      ++trial_.runs;
      run_cost_j_ = 0;
      batch_size_ = batch_size;
      needed_ = draw_epochs(static_cast<std::size_t>(place - job_.batch_sizes.begin()));
    }
    count_epoch(*cell, answer);
    return answer;
  }

  void count_epoch(const ProfileCell& cell, Observation& answer) {
    const double cost_j = job_.epoch_cost_j(cell);
    ++epochs_;
    run_cost_j_ += cost_j;
    trial_.cost_j += cost_j;
    answer.power_mean_mw = std::llround(1e3 * cell.power_w);
    answer.power_max_mw = answer.power_mean_mw;
    answer.job = {JobState::running, epochs_, Duration(std::llround(1e9 * *cell.epoch_s))};
    answer.duration = answer.job.epoch;
    if (epochs_ >= needed_) {
      answer.job.state = JobState::reached;
      cheapest_j_ = std::min(cheapest_j_, run_cost_j_);
      trial_.recurrences.push_back({cell.mode, cell.batch_size, trial_.cost_j});
    } else if (epochs_ >= job_.terms.most_epochs) {
      answer.job.state = JobState::missed;
      ++trial_.missed;
    } else if (run_cost_j_ > options_.beta * cheapest_j_) {
      answer.job.state = JobState::stopped;
      ++trial_.stopped;
    }
    if (answer.job.state != JobState::running) epochs_ = 0;
  }

  const RecurringJob& job_;
  Policy& policy_;
  const RecurringOptions options_;
  std::mt19937_64 random_;
  Workload workload_;
  RecurringTrial trial_;
  double cheapest_j_ = std::numeric_limits<double>::infinity();
  std::size_t refusals_ = 0;
  // The run at hand; no epochs: none is.
  std::uint32_t epochs_ = 0;
  std::int32_t batch_size_ = 0;
  double needed_ = 0;
  double run_cost_j_ = 0;
};

}  // namespace

std::size_t recurrence_count(const RecurringJob& job) {
  return 2 * job.batch_sizes.size() * job.modes.size();
}

RecurringTrial play(const RecurringJob& job, Policy& policy, const RecurringOptions& options) {
  return Play(job, policy, options).run();
}

}  // namespace gearshift

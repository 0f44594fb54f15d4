#include "evaluation/recurring_job.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <sstream>
#include <stdexcept>

#include "controller/event.h"
#include "evaluation/number_text.h"

namespace gearshift {
namespace {

// The problem of "Zeus: Understanding and Optimizing GPU Energy Consumption of DNN Training"
// (NSDI 2023): jobs, targets, default batch sizes and most epochs.
struct PublishedTerms {
  std::string_view workload;
  double target_metric;
  std::int32_t batch_size;
  std::uint32_t most_epochs;
};
constexpr PublishedTerms kPublished[] = {
    {"cifar100-shufflenetv2-adadelta", 0.6, 1024, 100},
    {"imagenet-resnet50-adadelta", 0.65, 256, 100},
    {"movielens-1m-ncf-adam", 0.41, 1024, 100},
    {"sentiment140-bert_base_uncased-adamw", 0.84, 128, 10},
};

bool has(std::span<const std::int32_t> batch_sizes, std::int32_t batch_size) {
  return std::find(batch_sizes.begin(), batch_sizes.end(), batch_size) != batch_sizes.end();
}

// 0 where a run missed the target.
std::uint32_t slowest(const EpochsToTarget& row) {
  std::uint32_t most = 0;
  for (const auto& epochs : row.epochs) {
    if (!epochs) return 0;
    most = std::max(most, *epochs);
  }
  return most;
}

}  // namespace

std::optional<JobTerms> usual_terms(std::string_view workload, std::span<const EpochsToTarget> rows,
                                    std::span<const std::int32_t> batch_sizes) {
  for (const PublishedTerms& one : kPublished) {
    if (one.workload != workload) continue;
    return JobTerms{std::string(workload), one.target_metric, one.batch_size, one.most_epochs};
  }
  struct Reached {
    std::size_t batch_sizes = 0;
    std::uint32_t slowest = 0;
  };
  std::map<double, Reached> targets;
  for (const EpochsToTarget& row : rows) {
    if (row.workload() != workload || !has(batch_sizes, row.batch_size)) continue;
    const std::uint32_t epochs = slowest(row);
    if (epochs == 0) continue;
    Reached& reached = targets[row.target_metric];
    ++reached.batch_sizes;
    reached.slowest = std::max(reached.slowest, epochs);
  }
  const std::int32_t middle = batch_sizes.empty() ? 0 : batch_sizes[batch_sizes.size() / 2];
  for (auto target = targets.rbegin(); target != targets.rend(); ++target) {
    if (2 * target->second.batch_sizes < batch_sizes.size()) continue;
    return JobTerms{std::string(workload), target->first, middle, 2 * target->second.slowest};
  }
  return std::nullopt;
}

JobTerms parse_job_terms(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, ',');) parts.push_back(part);
  const auto read = [](const std::string& part, auto& value) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return error == std::errc() && end == part.data() + part.size();
  };
  JobTerms terms;
  const bool fits = parts.size() == 4 && !parts[0].empty() && read(parts[1], terms.target_metric) &&
                    read(parts[2], terms.batch_size) && read(parts[3], terms.most_epochs) &&
                    std::isfinite(terms.target_metric) && terms.batch_size > 0 &&
                    terms.most_epochs > 0 && terms.most_epochs <= 1'000'000;
  if (!fits) {
    throw std::runtime_error("--job '" + text +
                             "': give WORKLOAD,TARGET,BATCH,MOST_EPOCHS, for example "
                             "cifar100-shufflenetv2-adadelta,0.6,1024,100");
  }
  terms.workload = parts[0];
  return terms;
}

const ProfileCell* RecurringJob::cell(const PowerMode& mode, std::int32_t batch_size) const {
  const ProfileCell* found = profile->find(mode, batch_size);
  return found != nullptr && found->epoch_s ? found : nullptr;
}

double RecurringJob::epoch_cost_j(const ProfileCell& cell) const {
  return goal.cost(*cell.epoch_s, *cell.epoch_s * cell.power_w);
}

double RecurringJob::expected_cost_j(const PowerMode& mode, std::int32_t batch_size) const {
  const ProfileCell* found = cell(mode, batch_size);
  const auto place = std::find(batch_sizes.begin(), batch_sizes.end(), batch_size);
  if (found == nullptr || place == batch_sizes.end()) return kNever;
  double epochs = 0;
  double reached = 0;
  for (const auto& run : runs[static_cast<std::size_t>(place - batch_sizes.begin())]) {
    const bool reaches = run && *run <= terms.most_epochs;
    epochs += reaches ? *run : terms.most_epochs;
    reached += reaches ? 1 : 0;
  }
  return reached > 0 ? epochs * epoch_cost_j(*found) / reached : kNever;
}

RecurringJob make_recurring_job(const Profile& profile, std::span<const EpochsToTarget> rows,
                                const JobTerms& terms, double eta) {
  const std::string name = profile.device + ' ' + profile.workload;
  RecurringJob job;
  job.terms = terms;
  job.device = profile.device;
  job.knobs = profile.knobs();
  job.profile = &profile;
  const auto limit = job.knobs.find("power_limit_w");
  if (!limit) {
    throw std::runtime_error(name + ": the profile has no column power_limit_w, which prices time");
  }
  job.goal = {.objective = Objective::target,
              .energy_weight = eta,
              .priced_power_mw = job.knobs.knobs[*limit].values.back()};
  for (const ProfileCell& cell : profile.cells()) {
    if (cell.epoch_s && std::find(job.modes.begin(), job.modes.end(), cell.mode) == job.modes.end())
      job.modes.push_back(cell.mode);
  }
  std::sort(job.modes.begin(), job.modes.end(),
            [](const PowerMode& a, const PowerMode& b) { return a.values < b.values; });
  for (const std::int32_t batch_size : profile.batch_sizes()) {
    for (const EpochsToTarget& row : rows) {
      if (row.workload() != terms.workload || row.batch_size != batch_size ||
          row.target_metric != terms.target_metric) {
        continue;
      }
      job.batch_sizes.push_back(batch_size);
      job.runs.push_back(row.epochs);
    }
  }
  if (job.modes.empty() || job.batch_sizes.empty()) {
    throw std::runtime_error(name + ": no batch size has both epoch_s in the profile and runs to " +
                             exact(terms.target_metric) + " in the file of --epochs");
  }
  if (job.batch_sizes.size() > kMaxBatchSizes) {
    throw std::runtime_error(name + ": has " + std::to_string(job.batch_sizes.size()) +
                             " batch sizes; at most " + std::to_string(kMaxBatchSizes) +
                             ": leave some out of --profile or --epochs");
  }
  // A device may lack the memory for the usual batch size: the next lower one then, or the lowest.
  const auto above =
      std::upper_bound(job.batch_sizes.begin(), job.batch_sizes.end(), terms.batch_size);
  job.terms.batch_size = above == job.batch_sizes.begin() ? *above : *(above - 1);
  if (best_fixed(job).batch_size == 0) {
    throw std::runtime_error(name + ": no recorded run reaches " + exact(terms.target_metric) +
                             " in " + std::to_string(terms.most_epochs) + " epochs");
  }
  return job;
}

BestFixed best_fixed(const RecurringJob& job) {
  BestFixed best;
  best.cost_j = kNever;
  for (const std::int32_t batch_size : job.batch_sizes) {
    for (const PowerMode& mode : job.modes) {
      const double cost_j = job.expected_cost_j(mode, batch_size);
      if (cost_j < best.cost_j) best = {mode, batch_size, cost_j};
    }
  }
  return best;
}

}  // namespace gearshift

#include "evaluation/recurring_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "evaluation/number_text.h"
#include "evaluation/statistics.h"

namespace gearshift {
namespace {

using json = nlohmann::ordered_json;

// The usual way to run it: its batch size at the highest limit.
double usual_ratio(const RecurringJob& job) {
  return job.expected_cost_j(job.modes.back(), job.terms.batch_size) / best_fixed(job).cost_j;
}

// Whether the job recurred as often as it does.
bool ended(const RecurringRow& row) {
  return row.trial.recurrences.size() == recurrence_count(*row.job);
}

// Where a cost is infinite JSON has no number for it.
json finite_or_null(double value) {
  return value < std::numeric_limits<double>::infinity() ? json(value) : json();
}

json to_json(const RecurringRow& row) {
  const RecurringJob& job = *row.job;
  const BestFixed best = best_fixed(job);
  const auto count = static_cast<double>(row.trial.recurrences.size());
  json out;
  out["policy"] = row.policy;
  out["device"] = job.device;
  out["job"] = job.terms.workload;
  out["target_metric"] = job.terms.target_metric;
  out["default_batch"] = job.terms.batch_size;
  out["most_epochs"] = job.terms.most_epochs;
  out["seed"] = row.seed;
  out["recurrences"] = row.trial.recurrences.size();
  out["runs"] = row.trial.runs;
  out["runs_missed"] = row.trial.missed;
  out["runs_stopped"] = row.trial.stopped;
  out["runs_abandoned"] = row.trial.abandoned;
  out["cumulative_cost_j"] = row.trial.cost_j;
  out["best_fixed_batch"] = best.batch_size;
  out["best_fixed_mode"] = job.knobs.describe(best.mode);
  out["best_fixed_cost_j"] = best.cost_j;
  out["best_fixed_total_j"] = count * best.cost_j;
  out["cost_ratio"] = finite_or_null(cost_ratio(row));
  out["regret_j"] = ended(row) ? json(row.trial.cost_j - count * best.cost_j) : json();
  out["last_expected_cost_j"] = finite_or_null(last_ratio(row) * best.cost_j);
  out["last_expected_ratio"] = finite_or_null(last_ratio(row));
  out["failure"] = row.trial.failure;
  return out;
}

// Rows of one policy and job follow each other.
std::vector<std::span<const RecurringRow>> groups(std::span<const RecurringRow> rows) {
  std::vector<std::span<const RecurringRow>> found;
  while (!rows.empty()) {
    const RecurringRow& first = rows.front();
    std::size_t count = 1;
    while (count < rows.size() && rows[count].policy == first.policy &&
           rows[count].job == first.job) {
      ++count;
    }
    found.push_back(rows.first(count));
    rows = rows.subspan(count);
  }
  return found;
}

Distribution over(std::span<const RecurringRow> rows, double (*figure)(const RecurringRow&)) {
  std::vector<double> values;
  for (const RecurringRow& row : rows) values.push_back(figure(row));
  return distribution(std::move(values));
}

}  // namespace

double cost_ratio(const RecurringRow& row) {
  if (!ended(row)) return std::numeric_limits<double>::infinity();
  const auto count = static_cast<double>(row.trial.recurrences.size());
  return row.trial.cost_j / (count * best_fixed(*row.job).cost_j);
}

double last_ratio(const RecurringRow& row) {
  if (!ended(row)) return std::numeric_limits<double>::infinity();
  const auto& all = row.trial.recurrences;
  const std::size_t count = std::min(kLastRecurrences, all.size());
  double sum = 0;
  for (std::size_t i = all.size() - count; i < all.size(); ++i) {
    sum += row.job->expected_cost_j(all[i].mode, all[i].batch_size);
  }
  return sum / static_cast<double>(count) / best_fixed(*row.job).cost_j;
}

std::string recurring_json(std::span<const RecurringRow> rows) {
  json out;
  out["rows"] = json::array();
  for (const RecurringRow& row : rows) out["rows"].push_back(to_json(row));
  out["summary"] = json::array();
  for (const auto group : groups(rows)) {
    const Distribution ratio = over(group, cost_ratio);
    const Distribution last = over(group, last_ratio);
    out["summary"].push_back({{"policy", group.front().policy},
                              {"device", group.front().job->device},
                              {"job", group.front().job->terms.workload},
                              {"seeds", group.size()},
                              {"cost_ratio_median", finite_or_null(ratio.median)},
                              {"cost_ratio_least", finite_or_null(ratio.least)},
                              {"cost_ratio_most", finite_or_null(ratio.most)},
                              {"default_ratio", finite_or_null(usual_ratio(*group.front().job))},
                              {"last_expected_ratio_median", finite_or_null(last.median)},
                              {"last_expected_ratio_most", finite_or_null(last.most)}});
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string recurring_text(std::span<const RecurringRow> rows) {
  std::string text =
      "Cost of all runs over as many recurrences of the best fixed setting, and of the last 20's\n"
      "settings likewise: median, then least and most of the seeds.\n";
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "%-20s %-8s %-38s %5s %7s %15s %8s %8s\n", "policy",
                "device", "job", "seeds", "median", "least, most", "last 20", "default");
  text += line.data();
  for (const auto group : groups(rows)) {
    const RecurringJob& job = *group.front().job;
    const Distribution ratio = over(group, cost_ratio);
    std::snprintf(line.data(), line.size(), "%-20s %-8s %-38s %5zu %7s %7s %7s %8s %8s\n",
                  group.front().policy.c_str(), job.device.c_str(), job.terms.workload.c_str(),
                  group.size(), fixed(ratio.median, 4).c_str(), fixed(ratio.least, 4).c_str(),
                  fixed(ratio.most, 4).c_str(), fixed(over(group, last_ratio).median, 4).c_str(),
                  fixed(usual_ratio(job), 3).c_str());
    text += line.data();
  }
  return text;
}

}  // namespace gearshift

// What recurring jobs cost under a policy, beside what the best fixed setting would cost.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluation/recurring_trial.h"

namespace gearshift {

// One job, policy and seed.
struct RecurringRow {
  std::string policy;
  const RecurringJob* job = nullptr;
  std::uint64_t seed = 0;
  RecurringTrial trial;
};

inline constexpr std::size_t kLastRecurrences = 20;

// The trial's cost over that of as many recurrences of the best fixed setting; infinity, here and
// below, where it ended before its last recurrence.
double cost_ratio(const RecurringRow& row);
// Mean expected cost of the settings that the last kLastRecurrences ended in, over the best fixed
// setting's.
double last_ratio(const RecurringRow& row);

// {"rows": [...], "summary": [...]}, fields as docs/evaluation/learning.md lists them; a summary
// for each policy and job, in the order of the rows.
std::string recurring_json(std::span<const RecurringRow> rows);
// The summary as a table.
std::string recurring_text(std::span<const RecurringRow> rows);

}  // namespace gearshift

#include "evaluation/drift_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "evaluation/number_text.h"
#include "evaluation/statistics.h"

namespace gearshift {
namespace {

using json = nlohmann::ordered_json;

template <typename Value>
json value_or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

// "median, most" of the rows that have one; "-" where none has. `unmoved` rows cannot have one.
template <typename Figure>
std::string spread(std::span<const DriftRow> rows, int digits, Figure figure,
                   std::size_t unmoved = 0) {
  std::vector<double> values;
  for (const DriftRow& row : rows) {
    if (const std::optional<double> value = figure(row)) values.push_back(*value);
  }
  std::string text = "-";
  if (!values.empty()) {
    const std::size_t missing = rows.size() - values.size() - unmoved;
    const Distribution all = distribution(std::move(values));
    text = fixed(all.median, digits) + ", " + fixed(all.most, digits);
    if (missing > 0) text += " (" + std::to_string(missing) + " never)";
  }
  if (unmoved > 0) text += " (" + std::to_string(unmoved) + " unmoved)";
  return text;
}

std::optional<double> number(const std::optional<std::uint32_t>& count) {
  return count ? std::optional<double>(*count) : std::nullopt;
}

}  // namespace

std::string drift_json(std::span<const DriftRow> rows) {
  json out;
  out["rows"] = json::array();
  for (const DriftRow& row : rows) {
    out["rows"].push_back({{"policy", row.policy},
                           {"change", row.change},
                           {"seed", row.seed},
                           {"hours", row.hours},
                           {"shift", value_or_null(row.shift)},
                           {"noticed", value_or_null(row.noticed)},
                           {"measurements", value_or_null(row.measurements)},
                           {"from_scratch", value_or_null(row.from_scratch)},
                           {"excess", value_or_null(row.excess)},
                           {"false_alarms", row.false_alarms},
                           {"failure", row.failure}});
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string drift_text(std::span<const DriftRow> rows) {
  std::string text =
      "Median, most of the seeds: repeats until the change was noticed, measurements from there to "
      "a\nsetting within 5 % of the new optimum, the same from scratch, % over it at the end, and "
      "alarms\nwithout a change.\n";
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "%-16s %-9s %5s %16s %18s %18s %16s %8s\n", "policy",
                "change", "seeds", "noticed", "measurements", "from scratch", "held", "false");
  text += line.data();
  while (!rows.empty()) {
    const DriftRow& first = rows.front();
    std::size_t count = 1;
    while (count < rows.size() && rows[count].policy == first.policy &&
           rows[count].change == first.change) {
      ++count;
    }
    const auto group = rows.first(count);
    std::uint32_t most = 0;
    for (const DriftRow& row : group) most = std::max(most, row.false_alarms);
    const auto noticed = [](const DriftRow& row) { return number(row.noticed); };
    const auto still = std::count_if(group.begin(), group.end(), [](const DriftRow& row) {
      return row.shift && *row.shift == 0 && !row.noticed;
    });
    const auto measurements = [](const DriftRow& row) { return number(row.measurements); };
    const auto scratch = [](const DriftRow& row) { return number(row.from_scratch); };
    const auto excess = [](const DriftRow& row) {
      return row.excess ? std::optional<double>(100 * *row.excess) : std::nullopt;
    };
    std::snprintf(line.data(), line.size(), "%-16s %-9s %5zu %16s %18s %18s %16s %8u\n",
                  first.policy.c_str(), first.change.c_str(), count,
                  spread(group, 0, noticed, static_cast<std::size_t>(still)).c_str(),
                  spread(group, 0, measurements).c_str(), spread(group, 0, scratch).c_str(),
                  spread(group, 1, excess).c_str(), most);
    text += line.data();
    rows = rows.subspan(count);
  }
  return text;
}

}  // namespace gearshift

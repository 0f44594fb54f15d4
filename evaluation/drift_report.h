// How policies fare when the world changes while their choice is held, as a table and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gearshift {

// One policy, change and seed. What counts measurements is absent where it did not come to pass.
struct DriftRow {
  std::string policy;
  std::string change;  // "throttle", "workload", "cap", or "none"
  std::uint64_t seed = 0;
  double hours = 0;  // simulated
  // The larger of the relative changes of time and power, by true costs, of the setting that was in
  // force at the change; 0 where it costs what it did, so that nothing can be noticed in it.
  std::optional<double> shift{};
  // Repeats that had ended since the change when it was noticed, that one included; 0 for a cap.
  std::optional<std::uint32_t> noticed{};
  // From then on, until a setting within 5 % of the new optimum was measured.
  std::optional<std::uint32_t> measurements{};
  // The same of a search that begins in the world as it is after the change.
  std::optional<std::uint32_t> from_scratch{};
  std::optional<double> excess{};  // of what is held at the end over the optimum; by true costs
  std::uint32_t false_alarms = 0;
  std::string failure{};  // of the policy's script; empty where it did not fail
};

// {"rows": [...]}, fields as docs/evaluation/drift.md lists them.
std::string drift_json(std::span<const DriftRow> rows);
// A line a policy and change; rows of one follow each other.
std::string drift_text(std::span<const DriftRow> rows);

}  // namespace gearshift

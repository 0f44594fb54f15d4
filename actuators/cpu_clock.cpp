// The clock of all cores: every cpufreq policy pinned to one frequency, the governor left alone.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "actuators/knob_control.h"
#include "actuators/limit_pair.h"
#include "actuators/number_list.h"

namespace gearshift {
namespace {

// A policy whose cores are all offline keeps its folder, but its files answer so; a file in a plain
// folder, which cannot answer with an error, is empty (ENODATA).
bool asleep(int code) {
  return code == EBUSY || code == ENODEV || code == ENOENT || code == ENODATA;
}

struct Policy {
  std::string folder;
  std::optional<LimitPair> limits;  // empty while the policy is asleep and its files are gone
};

// Policies asleep are skipped. One that wakes with other limits is seen by the next read(), which
// reports its value, and pinned by the next write().
class CpuClock : public KnobControl {
 public:
  CpuClock(Knob knob, Sysroot& root, std::vector<Policy> policies)
      : KnobControl(std::move(knob)), root_(root), policies_(std::move(policies)) {}

  void save(KnobJournal& journal) override {
    for (Policy& policy : policies_) {
      try {
        if (awake(policy)) policy.limits->save(journal);
      } catch (const FileError& error) {
        if (!asleep(error.code())) throw;
      }
    }
  }

  // Every policy is written before a failure of one is told: the others may reduce power.
  Progress write(std::int64_t value, KnobJournal& journal) override {
    wanted_ = value;
    std::optional<FileError> failure;
    Policy* other = nullptr;
    for (Policy& policy : policies_) {
      try {
        if (!awake(policy)) continue;
        policy.limits->save(journal);
        journal.commit();
        policy.limits->pin(value);
        if (!policy.limits->pinned(value)) other = &policy;
      } catch (const FileError& error) {
        if (!asleep(error.code())) failure = error;
      }
    }
    if (failure) throw FileError(*failure);
    if (other == nullptr) return read_back_.taken();
    const auto limits = other->limits->read();
    if (!limits && asleep(other->limits->last_error())) return read_back_.taken();
    return read_back_.not_taken(knob_, value,
                                limits ? std::optional(held(*limits, value)) : std::nullopt,
                                other->limits->shown_path());
  }

  std::optional<std::int64_t> read() override {
    std::optional<std::int64_t> value;
    for (Policy& policy : policies_) {
      if (!awake(policy)) continue;
      const auto limits = policy.limits->read();
      if (!limits) {
        const int code = policy.limits->last_error();
        if (!asleep(code)) return std::nullopt;
        if (code == ENODEV) policy.limits.reset();
        continue;
      }
      const std::int64_t here = held(*limits, wanted_);
      if (!value || here != wanted_) value = here;
    }
    return value;
  }

 private:
  // Opens the files of a policy that has come back.
  bool awake(Policy& policy) {
    if (policy.limits) return true;
    const std::string minimum = policy.folder + "/scaling_min_freq";
    if (!root_.exists(minimum)) return false;
    try {
      policy.limits.emplace(root_, minimum, policy.folder + "/scaling_max_freq");
    } catch (const FileError& error) {
      if (!asleep(error.code())) throw;
    }
    return policy.limits.has_value();
  }

  Sysroot& root_;
  std::vector<Policy> policies_;
  std::optional<std::int64_t> wanted_;  // kHz, as the files have it
  ReadBack read_back_;
};

// The frequencies that every policy has; empty where no policy tells.
std::vector<std::int64_t> common_table(const Sysroot& root, const std::vector<Policy>& policies) {
  std::vector<std::int64_t> common;
  for (const Policy& policy : policies) {
    const auto text = root.try_read(policy.folder + "/scaling_available_frequencies");
    const std::vector<std::int64_t> table = parse_numbers(text.value_or(""));
    if (table.empty()) continue;
    if (common.empty()) {
      common = table;
      continue;
    }
    std::erase_if(common, [&table](std::int64_t value) {
      return !std::binary_search(table.begin(), table.end(), value);
    });
    if (common.empty()) {
      throw KnobError("the policies have no frequency in common (" + policy.folder + ")");
    }
  }
  return common;
}

}  // namespace

std::unique_ptr<KnobControl> open_cpu_clock(const KnobDescription& description, Sysroot& root,
                                            std::string& finding) {
  std::vector<Policy> policies;
  bool any_awake = false;
  for (const std::string& name : root.list(description.path)) {
    if (!name.starts_with("policy")) continue;
    Policy& policy = policies.emplace_back();
    policy.folder = description.path + '/' + name;
    try {
      policy.limits.emplace(root, policy.folder + "/scaling_min_freq",
                            policy.folder + "/scaling_max_freq");
      any_awake = any_awake || policy.limits->read().has_value();
    } catch (const FileError& error) {
      if (!asleep(error.code())) throw KnobError(error.what());
    }
  }
  if (!any_awake) {
    throw KnobError("no policy below " + description.path +
                    " has frequency limits: the kernel has no frequency driver for these cores");
  }
  Knob knob = description.knob;
  const std::vector<std::int64_t> table = common_table(root, policies);
  if (!table.empty()) knob.values = table;
  finding = std::to_string(policies.size()) + " policies below " + description.path + ", " +
            std::to_string(knob.values.size()) + " frequencies " +
            (table.empty() ? "of the board file" : "of the kernel");
  return std::make_unique<CpuClock>(std::move(knob), root, std::move(policies));
}

}  // namespace gearshift

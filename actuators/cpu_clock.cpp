// The clock of all cores: every cpufreq policy pinned to one frequency, the governor left alone
// (with equal limits every governor sets that frequency as soon as it is told of them).
#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <vector>

#include "actuators/clock_watch.h"
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
  std::optional<LimitPair> limits;    // empty while the policy is asleep and its files are gone
  std::optional<DeviceFile> current;  // empty too where the clock cannot be told
  std::optional<DeviceFile> cpus;     // its cores online
};

enum class CoresOnline : std::uint8_t { none, some, unknown };

CoresOnline cores_online(Policy& policy) {
  if (!policy.cpus) return CoresOnline::unknown;
  if (policy.cpus->try_read_integer()) return CoresOnline::some;
  return asleep(policy.cpus->last_error()) ? CoresOnline::none : CoresOnline::unknown;
}

// Before Linux 5.19 the files of a policy asleep show what they last held, and refuse a write with
// EINVAL. Only the list of its cores tells then: it is empty.
bool has_no_core(Policy& policy) { return cores_online(policy) == CoresOnline::none; }

// Whether the policy is asleep, one of whose files has failed with `code`. Where it has cores
// online a busy file is a failure like any other. The other codes are of a file that is gone, and
// those of a folder do not go all at once.
bool is_asleep(Policy& policy, int code) {
  const CoresOnline cores = cores_online(policy);
  if (cores == CoresOnline::none) return true;
  return asleep(code) && (code != EBUSY || cores == CoresOnline::unknown);
}

// A driver without a table (intel_pstate) picks clocks by itself between the limits, and shows the
// mean of what it picked: that says nothing of a limit ignored.
enum class Clocks : std::uint8_t { of_the_table, of_the_driver };

// Opens the files of a policy unless it is asleep. Throws FileError.
void open_files(Sysroot& root, Policy& policy) {
  try {
    policy.limits.emplace(root, policy.folder + "/scaling_min_freq",
                          policy.folder + "/scaling_max_freq");
    policy.current = root.try_open(policy.folder + "/scaling_cur_freq");
    policy.cpus = root.try_open(policy.folder + "/affected_cpus");
  } catch (const FileError& error) {
    if (!asleep(error.code())) throw;
  }
}

// Policies asleep are skipped. One that wakes with other limits is seen by the next read(), which
// reports its value, and pinned by the next write(): where its journal is another process's, which
// has not saved it, by that process alone.
class CpuClock : public KnobControl {
 public:
  CpuClock(Knob knob, Clocks clocks, Sysroot& root, std::vector<Policy> policies)
      : KnobControl(std::move(knob)),
        clocks_(clocks),
        root_(root),
        policies_(std::move(policies)) {}

  void save(KnobJournal& journal) override {
    for (Policy& policy : policies_) {
      try {
        if (awake(policy) && policy.limits->savable(journal)) policy.limits->save(journal);
      } catch (const FileError& error) {
        if (!asleep(error.code())) throw;
      }
    }
  }

  // Every policy is written before a failure of one is told: the others may reduce power.
  Progress write(std::int64_t value, KnobJournal& journal) override {
    wanted_ = value;
    watch_.expect(value);
    std::optional<FileError> failure;
    Policy* other = nullptr;
    for (Policy& policy : policies_) {
      try {
        if (!awake(policy) || !policy.limits->savable(journal)) continue;
        policy.limits->save(journal);
        journal.commit();
        policy.limits->pin(value);
        if (!policy.limits->pinned(value)) other = &policy;
      } catch (const FileError& error) {
        if (!is_asleep(policy, error.code())) failure = error;
      } catch (const std::runtime_error& error) {  // a full disk: one that woke cannot be saved
        failure = FileError(error.what(), 0);
      }
    }
    if (failure) throw FileError(*failure);
    if (other == nullptr) return read_back_.taken();
    const auto limits = other->limits->read();
    if (is_asleep(*other, limits ? 0 : other->limits->last_error())) return read_back_.taken();
    return read_back_.not_taken(knob_, value,
                                limits ? std::optional(held(*limits, value)) : std::nullopt,
                                other->limits->shown_path());
  }

  std::optional<std::int64_t> read() override {
    std::optional<std::int64_t> value;
    std::optional<std::int64_t> clock;
    for (Policy& policy : policies_) {
      try {
        if (!awake(policy)) continue;
      } catch (const FileError&) {  // it has come back closed
        return std::nullopt;
      }
      const auto limits = policy.limits->read();
      if (!limits) {
        const int code = policy.limits->last_error();
        if (!is_asleep(policy, code)) return std::nullopt;
        if (code == ENODEV) policy.limits.reset();
        continue;
      }
      const std::int64_t here = held(*limits, wanted_);
      if (!value || here != wanted_) value = here;
      if (clocks_ == Clocks::of_the_driver || !policy.current) continue;
      const auto current = policy.current->try_read_integer();
      if (!current || *current <= 0) continue;
      if (!clock || !ClockWatch::follows(*current, here)) clock = current;
    }
    // The limits hold what we wrote; the clocks may still not follow them.
    if (clock && wanted_ && value == wanted_) return watch_.judge(*clock);
    return value;
  }

 private:
  // Opens the files of a policy that has come back.
  bool awake(Policy& policy) {
    if (!policy.limits && root_.exists(policy.folder + "/scaling_min_freq")) {
      open_files(root_, policy);
    }
    return policy.limits && !has_no_core(policy);
  }

  const Clocks clocks_;
  Sysroot& root_;
  std::vector<Policy> policies_;
  std::optional<std::int64_t> wanted_;  // kHz, as the files have it
  ClockWatch watch_;
  ReadBack read_back_;
};

// The frequencies that every policy has; none where no policy tells. Refused are the most that one
// policy's table lists.
ClockTable common_table(const Sysroot& root, const std::vector<Policy>& policies) {
  ClockTable common;
  for (const Policy& policy : policies) {
    const auto text = root.try_read(policy.folder + "/scaling_available_frequencies");
    const ClockTable table = parse_clock_table(text.value_or(""));
    common.refused = std::max(common.refused, table.refused);
    if (table.khz.empty()) continue;
    if (common.khz.empty()) {
      common.khz = table.khz;
      continue;
    }
    std::erase_if(common.khz, [&table](std::int64_t value) {
      return !std::binary_search(table.khz.begin(), table.khz.end(), value);
    });
    if (common.khz.empty()) {
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
      open_files(root, policy);
    } catch (const FileError& error) {
      throw KnobError(error.what());
    }
    any_awake = any_awake || (policy.limits && !has_no_core(policy) && policy.limits->read());
  }
  if (!any_awake) {
    throw KnobError("no policy below " + description.path +
                    " has frequency limits: the kernel has no frequency driver for these cores");
  }
  Knob knob = description.knob;
  const ClockTable table = common_table(root, policies);
  if (!table.khz.empty()) knob.values = table.khz;
  finding = std::to_string(policies.size()) + " policies below " + description.path + ", " +
            std::to_string(knob.values.size()) + " frequencies " + table.origin();
  const Clocks clocks = table.khz.empty() ? Clocks::of_the_driver : Clocks::of_the_table;
  return std::make_unique<CpuClock>(std::move(knob), clocks, root, std::move(policies));
}

}  // namespace gearshift

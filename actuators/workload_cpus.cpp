// What the managed workloads may use of a machine's CPUs: which cores, and how much of their time.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "actuators/control_group.h"
#include "actuators/group_files.h"
#include "actuators/knob_control.h"
#include "actuators/number_list.h"

namespace gearshift {
namespace {

// Before the first workload is managed there is nothing to write to: a value is remembered, and
// holds for the workload from the moment it is in the group.
class GroupKnob : public KnobControl {
 public:
  GroupKnob(Knob knob, Sysroot& root, ControlGroup group)
      : KnobControl(std::move(knob)), root_(root), group_(std::move(group)) {}

  void save(KnobJournal&) override {}

  Progress write(std::int64_t value, KnobJournal&) override {
    wanted_ = value;
    if (!no_group_.empty()) throw KnobError(knob_.name + ": cannot be set: " + no_group_);
    return file_ ? set() : Progress::done;
  }

  std::optional<std::int64_t> read() override {
    if (!no_group_.empty()) return std::nullopt;
    return file_ ? in_force() : wanted_.value_or(knob_.values.back());
  }

  bool manages() const override { return true; }

  void manage(std::int32_t pid, Kind kind, KnobJournal& journal) override {
    if (pid < 0) throw KnobError("process " + std::to_string(pid) + ": there is none");
    const std::int32_t before = std::exchange(managed_[index(kind)], pid);
    if (before != 0 && before != pid) let_go(before, journal);
    if (pid == 0) return;
    try {
      // One that was left to the dying, which another workload's group need not be beside.
      if (!file_ && group_.empty()) group_.dissolve(journal);
      adopt(pid, journal);
    } catch (const std::runtime_error& error) {
      // What is set of a group that holds nobody changes nothing, however well it reads back.
      no_group_ = !file_ || group_.empty() ? error.what() : "";
      throw;
    }
  }

  void spare(std::int32_t pid) override { group_.spare(pid); }

  void stand_beside(const KnobJournal& journal) override {
    no_group_ = "no workload is in a control group";
    group_.find(journal);
    if (!group_.made()) return;
    try {
      read_bound();
      file_.emplace(root_, group_.folder() + '/' + file_name());
      no_group_.clear();
    } catch (const FileError& error) {
      no_group_ = error.what();
    }
  }

  void restored() override {
    managed_ = {};
    file_.reset();
    group_.forget();
    no_group_.clear();
  }

 protected:
  virtual std::string file_name() const = 0;
  // What the group needs before a process can be moved in.
  virtual void prepare() {}
  // Learns how much the workload's home leaves for it. A value above that takes all of it.
  virtual void read_bound() = 0;
  virtual std::string text_of(std::int64_t value) const = 0;
  virtual std::optional<std::int64_t> value_of(std::string_view text) const = 0;

  Sysroot& root_;
  ControlGroup group_;

 private:
  // Moves the process in though its limit is refused: the next value may be taken.
  void adopt(std::int32_t pid, KnobJournal& journal) {
    group_.make(pid, journal);
    read_bound();
    prepare();
    // Anew each time: the group may be another one than before, of the same name.
    file_.emplace(root_, group_.folder() + '/' + file_name());
    if (!wanted_) wanted_ = knob_.values.back();
    std::string refused;
    try {
      set();
    } catch (const std::runtime_error& error) {
      refused = error.what();
    }
    group_.adopt(pid, journal);
    no_group_.clear();
    if (!refused.empty()) throw KnobError(refused);
  }

  // A workload that has left is held no longer, for nobody hears from it how it fares.
  void let_go(std::int32_t pid, KnobJournal& journal) {
    const auto stays = std::find_if(managed_.begin(), managed_.end(),
                                    [](std::int32_t managed) { return managed != 0; });
    if (stays != managed_.end()) {
      group_.let_go(pid, *stays, journal);
      return;
    }
    file_.reset();
    no_group_.clear();
    group_.dissolve(journal);
  }

  Progress set() {
    file_->file.write(text_of(*wanted_));
    const std::optional<std::int64_t> actual = in_force();
    if (actual == wanted_) return read_back_.taken();
    return read_back_.not_taken(knob_, *wanted_, actual, file_->file.path());
  }

  std::optional<std::int64_t> in_force() {
    try {
      const std::optional<std::int64_t> actual = value_of(file_->file.read());
      const bool as_wanted = wanted_ && actual == value_of(text_of(*wanted_));
      return as_wanted ? wanted_ : actual;
    } catch (const FileError&) {
      return std::nullopt;
    }
  }

  std::array<std::int32_t, kKinds> managed_{};  // by kind; 0: none
  std::optional<KnobFile> file_;                // while any workload is managed
  std::string no_group_;                        // why no workload is in it, where one should be
  std::optional<std::int64_t> wanted_;
  ReadBack read_back_;
};

// The CPUs that a process of the group `home` may use.
CpuSet usable_cpus(const Sysroot& root, const std::string& home) {
  const std::array<std::string, 4> files = {home + "/cpuset.effective_cpus",
                                            home + "/cpuset.cpus.effective", home + "/cpuset.cpus",
                                            "/sys/devices/system/cpu/online"};
  for (const std::string& file : files) {
    const std::optional<CpuSet> cpus = parse_cpu_set(root.try_read(file).value_or(""));
    if (cpus && cpus->any()) return *cpus;
  }
  throw KnobError("neither " + files.front() + " nor " + files.back() + " tells the usable CPUs");
}

// The kernel's default period. Shorter ones cost more, longer ones make minibatches stutter.
constexpr std::int64_t kPeriodUs = 100'000;

std::optional<std::int64_t> leading_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// The least quota of a group and those above it, in microseconds of kPeriodUs; kNoQuota where
// none has one. Version 1 refuses a group within them any that is greater.
constexpr std::int64_t kNoQuota = std::numeric_limits<std::int64_t>::max();
std::int64_t least_quota_us(const Sysroot& root, const ControlGroup& group,
                            const std::string& home) {
  const bool v1 = group.version() == ControlGroup::Version::v1;
  std::int64_t least = kNoQuota;
  for (std::string at = home; at.size() >= group.hierarchy().size(); at = parent_of(at)) {
    const std::string limit =
        root.try_read(at + (v1 ? "/cpu.cfs_quota_us" : "/cpu.max")).value_or("");
    const std::string period = v1 ? root.try_read(at + "/cpu.cfs_period_us").value_or("")
                                  : limit.substr(std::min(limit.find(' ') + 1, limit.size()));
    const std::optional<std::int64_t> quota_us = leading_integer(limit);
    const std::int64_t period_us = leading_integer(period).value_or(kPeriodUs);
    if (!quota_us || *quota_us <= 0 || period_us <= 0) continue;
    least = std::min(least, *quota_us * kPeriodUs / period_us);
  }
  return least;
}

// The first `value` of the CPUs that the workload may use where it was found.
class CoreSet : public GroupKnob {
 public:
  using GroupKnob::GroupKnob;

 private:
  std::string file_name() const override { return "cpuset.cpus"; }

  void read_bound() override { cpus_ = usable_cpus(root_, group_.first_home()); }

  // Version 1 takes no process into a group without memory nodes.
  void prepare() override {
    if (group_.version() != ControlGroup::Version::v1) return;
    const std::string parent = group_.folder().substr(0, group_.folder().rfind('/'));
    root_.write(group_.folder() + "/cpuset.mems", root_.read(parent + "/cpuset.mems"));
  }

  std::string text_of(std::int64_t value) const override {
    CpuSet first;
    for (std::size_t cpu = 0; cpu < kMaxCpus && value > 0; ++cpu) {
      if (!cpus_[cpu]) continue;
      first.set(cpu);
      --value;
    }
    return format_cpu_set(first);
  }

  std::optional<std::int64_t> value_of(std::string_view text) const override {
    const std::optional<CpuSet> cpus = parse_cpu_set(text);
    return cpus ? std::optional(static_cast<std::int64_t>(cpus->count())) : std::nullopt;
  }

  CpuSet cpus_;
};

// Percent of one core's time, for all members together.
class CpuQuota : public GroupKnob {
 public:
  using GroupKnob::GroupKnob;

 private:
  bool is_v1() const { return group_.version() == ControlGroup::Version::v1; }
  std::string file_name() const override { return is_v1() ? "cpu.cfs_quota_us" : "cpu.max"; }

  void read_bound() override { most_us_ = least_quota_us(root_, group_, group_.first_home()); }

  void prepare() override {
    if (is_v1()) root_.write(group_.folder() + "/cpu.cfs_period_us", std::to_string(kPeriodUs));
  }

  std::string text_of(std::int64_t value) const override {
    const std::string quota = std::to_string(std::min(value * kPeriodUs / 100, most_us_));
    return is_v1() ? quota : quota + ' ' + std::to_string(kPeriodUs);
  }

  std::optional<std::int64_t> value_of(std::string_view text) const override {
    if (text == "-1" || text.starts_with("max")) return knob_.values.back();
    const std::optional<std::int64_t> quota_us = leading_integer(text);
    return quota_us ? std::optional(*quota_us * 100 / kPeriodUs) : std::nullopt;
  }

  std::int64_t most_us_ = kNoQuota;
};

}  // namespace

std::unique_ptr<KnobControl> open_cpu_set(const KnobDescription& description, Sysroot& root,
                                          std::string& finding) {
  try {
    ControlGroup group(root, description.path, "cpuset");
    const CpuSet cpus = usable_cpus(root, group.own_home());
    Knob knob = description.knob;
    knob.values.clear();
    for (std::size_t i = 1; i <= cpus.count(); ++i) {
      knob.values.push_back(static_cast<std::int64_t>(i));
    }
    finding = "CPUs " + format_cpu_set(cpus) + ", a control group beside " + group.own_home();
    return std::make_unique<CoreSet>(std::move(knob), root, std::move(group));
  } catch (const FileError& error) {
    throw KnobError(error.what());
  }
}

std::unique_ptr<KnobControl> open_cpu_quota(const KnobDescription& description, Sysroot& root,
                                            std::string& finding) {
  try {
    ControlGroup group(root, description.path, "cpu");
    const auto cores = static_cast<std::int64_t>(usable_cpus(root, group.own_home()).count());
    Knob knob = description.knob;
    knob.values.clear();
    // Fine steps where a change is a large share, coarse ones above: every value is one more
    // setting to search.
    // None is above the first that takes all of the quota that this program has itself.
    const std::int64_t most_us = least_quota_us(root, group, group.own_home());
    for (std::int64_t percent = 10; percent <= 100 * cores; percent += percent < 100 ? 10 : 50) {
      knob.values.push_back(percent);
      if (percent * kPeriodUs / 100 >= most_us) break;
    }
    finding = std::to_string(cores) + " cores, a control group beside " + group.own_home();
    return std::make_unique<CpuQuota>(std::move(knob), root, std::move(group));
  } catch (const FileError& error) {
    throw KnobError(error.what());
  }
}

}  // namespace gearshift

// What the managed workloads may use of a machine's CPUs: which cores, and how much of their time.
#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "actuators/control_group.h"
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
    return file_ ? set(value) : Progress::done;
  }

  std::optional<std::int64_t> read() override {
    if (!no_group_.empty()) return std::nullopt;
    return file_ ? in_force() : wanted_.value_or(knob_.values.back());
  }

  bool manages() const override { return true; }

  void manage(std::int32_t pid, KnobJournal& journal) override {
    if (pid <= 0) {
      throw KnobError("the workload gave no process id of a user that may be acted on");
    }
    try {
      group_.make(pid, journal);
      if (!file_ || !no_group_.empty()) {
        prepare();
        file_.emplace(root_, group_.folder() + '/' + file_name());
        set(wanted_.value_or(knob_.values.back()));
      }
      group_.adopt(pid, journal);
      no_group_.clear();
    } catch (const std::runtime_error& error) {
      // What is set of a group that holds nobody changes nothing, however well it reads back.
      no_group_ = !file_ || group_.empty() ? error.what() : "";
      throw;
    }
  }

  void stand_beside(const KnobJournal& journal) override {
    no_group_ = "no workload is in a control group";
    group_.find(journal);
    if (!group_.made()) return;
    try {
      file_.emplace(root_, group_.folder() + '/' + file_name());
      no_group_.clear();
    } catch (const FileError& error) {
      no_group_ = error.what();
    }
  }

  void restored() override {
    file_.reset();
    group_.forget();
    no_group_.clear();
  }

 protected:
  virtual std::string file_name() const = 0;
  // What the group needs before a process can be moved in.
  virtual void prepare() {}
  virtual std::string text_of(std::int64_t value) const = 0;
  virtual std::optional<std::int64_t> value_of(std::string_view text) const = 0;

  Sysroot& root_;
  ControlGroup group_;

 private:
  Progress set(std::int64_t value) {
    file_->file.write(text_of(value));
    const std::optional<std::int64_t> actual = in_force();
    if (actual == value) return read_back_.taken();
    return read_back_.not_taken(knob_, value, actual, file_->file.path());
  }

  std::optional<std::int64_t> in_force() {
    try {
      return value_of(file_->file.read());
    } catch (const FileError&) {
      return std::nullopt;
    }
  }

  std::optional<KnobFile> file_;  // once the group is made
  std::string no_group_;          // why no workload is in it, where one should be
  std::optional<std::int64_t> wanted_;
  ReadBack read_back_;
};

// The first `value` of the CPUs that this program may use.
class CoreSet : public GroupKnob {
 public:
  CoreSet(Knob knob, Sysroot& root, ControlGroup group, const CpuSet& cpus)
      : GroupKnob(std::move(knob), root, std::move(group)), cpus_(cpus) {}

 private:
  std::string file_name() const override { return "cpuset.cpus"; }

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

  const CpuSet cpus_;
};

// Percent of one core's time, for all members together.
class CpuQuota : public GroupKnob {
 public:
  using GroupKnob::GroupKnob;

 private:
  // The kernel's default period. Shorter ones cost more, longer ones make minibatches stutter.
  static constexpr std::int64_t kPeriodUs = 100'000;

  bool is_v1() const { return group_.version() == ControlGroup::Version::v1; }
  std::string file_name() const override { return is_v1() ? "cpu.cfs_quota_us" : "cpu.max"; }

  void prepare() override {
    if (is_v1()) root_.write(group_.folder() + "/cpu.cfs_period_us", std::to_string(kPeriodUs));
  }

  std::string text_of(std::int64_t value) const override {
    const std::string quota = std::to_string(value * kPeriodUs / 100);
    return is_v1() ? quota : quota + ' ' + std::to_string(kPeriodUs);
  }

  std::optional<std::int64_t> value_of(std::string_view text) const override {
    if (text == "-1" || text.starts_with("max")) return knob_.values.back();
    std::int64_t quota_us = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quota_us);
    if (error != std::errc()) return std::nullopt;
    return quota_us * 100 / kPeriodUs;
  }
};

// The CPUs that a process of this program's own group may use.
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
    return std::make_unique<CoreSet>(std::move(knob), root, std::move(group), cpus);
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
    for (std::int64_t percent = 10; percent <= 100 * cores; percent += percent < 100 ? 10 : 50) {
      knob.values.push_back(percent);
    }
    finding = std::to_string(cores) + " cores, a control group beside " + group.own_home();
    return std::make_unique<CpuQuota>(std::move(knob), root, std::move(group));
  } catch (const FileError& error) {
    throw KnobError(error.what());
  }
}

}  // namespace gearshift

#include "actuators/journal_restore.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "actuators/control_group.h"
#include "actuators/gpu_restore.h"
#include "actuators/heat.h"

namespace gearshift {
namespace {

// A frequency limit takes effect in a kernel worker: a read right after the write may be early.
constexpr int kReadBacks = 200;
// Another program may write between two of our writes.
constexpr int kRounds = 3;

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string_view folder_of(const std::string& path) {
  return std::string_view(path).substr(0, path.rfind('/'));
}

class Restoration {
 public:
  Restoration(Sysroot& root, const std::vector<SavedEntry>& entries, RestoreReport& report)
      : root_(root), entries_(entries), report_(report) {
    for (const SavedEntry& entry : entries) before_.push_back(root.try_read(entry.path));
    taken_.resize(entries.size());
  }

  std::vector<SavedEntry> run() {
    switch_cores("1");
    if (any_limit_closed()) wake_all_cores();
    for (const SavedEntry& entry : entries_) {
      if (entry.role == SavedRole::limit_max) restore_limits(entry);
    }
    restore_memory();
    switch_cores("0");
    restore_fan();
    heat_ = slowed_by_heat(root_);
    return verify_all();
  }

 private:
  // Whether it was taken is remembered: verify_all() reads what came of it.
  void write(const SavedEntry& entry, std::string_view text) {
    const auto number = static_cast<std::size_t>(&entry - entries_.data());
    try {
      root_.write(entry.path, text);
      taken_[number] = true;
    } catch (const FileError&) {
      taken_[number] = false;
    }
  }

  void switch_cores(std::string_view wanted) {
    for (const SavedEntry& entry : entries_) {
      if (entry.role != SavedRole::core_online || entry.text != wanted) continue;
      if (root_.try_read(entry.path) != entry.text) write(entry, wanted);
    }
  }

  // Whether the entry is a limit of a cluster without a core online. From Linux 5.19 on its files
  // answer EBUSY; before, they show what they last held, and take nothing.
  bool has_no_core(const SavedEntry& entry) const {
    return root_.try_read(std::string(folder_of(entry.path)) + "/affected_cpus") == "";
  }

  bool any_limit_closed() const {
    return std::any_of(entries_.begin(), entries_.end(), [this](const SavedEntry& entry) {
      return entry.role == SavedRole::limit_max &&
             (!root_.try_read(entry.path) || has_no_core(entry));
    });
  }

  void wake_all_cores() {
    for (const SavedEntry& entry : entries_) {
      if (entry.role == SavedRole::core_online && root_.try_read(entry.path) == "0") {
        write(entry, "1");
      }
    }
  }

  // The saved file of `role` that lies beside `entry`.
  const SavedEntry* partner(const SavedEntry& entry, SavedRole role) const {
    for (const SavedEntry& other : entries_) {
      if (other.role == role && folder_of(other.path) == folder_of(entry.path)) return &other;
    }
    return nullptr;
  }

  bool holds(const SavedEntry& entry) const {
    for (int i = 0; i < kReadBacks; ++i) {
      const std::optional<std::string> text = root_.try_read(entry.path);
      if (!text) return false;
      if (*text == entry.text) return true;
    }
    return false;
  }

  // Kernel 4.9 refuses a minimum above the maximum: whichever of the two keeps them apart goes
  // first.
  void restore_limits(const SavedEntry& maximum) {
    const SavedEntry* minimum = partner(maximum, SavedRole::limit_min);
    for (int round = 0; round < kRounds; ++round) {
      if (minimum == nullptr) {
        write(maximum, maximum.text);
        if (holds(maximum)) return;
        continue;
      }
      const std::optional<std::int64_t> lowest =
          integer(root_.try_read(minimum->path).value_or(""));
      const bool max_first = !lowest || integer(maximum.text).value_or(0) >= *lowest;
      write(max_first ? maximum : *minimum, max_first ? maximum.text : minimum->text);
      write(max_first ? *minimum : maximum, max_first ? minimum->text : maximum.text);
      if (holds(maximum) && holds(*minimum)) return;
    }
  }

  const SavedEntry* find(SavedRole role) const {
    for (const SavedEntry& entry : entries_) {
      if (entry.role == role) return &entry;
    }
    return nullptr;
  }

  // A cap is raised before the rate and lowered after it; the lock is opened last, because a rate
  // is only taken while it is closed.
  void restore_memory() {
    const SavedEntry* cap = find(SavedRole::memory_cap);
    const SavedEntry* rate = find(SavedRole::memory_rate);
    const auto now = rate ? integer(root_.try_read(rate->path).value_or("")) : std::nullopt;
    const bool cap_first = cap && (!now || integer(cap->text).value_or(0) >= *now);
    if (cap_first) write(*cap, cap->text);
    if (rate) write(*rate, rate->text);
    if (cap && !cap_first) write(*cap, cap->text);
    for (const SavedRole role : {SavedRole::memory_state, SavedRole::memory_lock}) {
      if (const SavedEntry* entry = find(role)) write(*entry, entry->text);
    }
  }

  // A kernel that has the fan may refuse a duty, so the switch goes last.
  void restore_fan() {
    for (const SavedRole role : {SavedRole::fan_duty, SavedRole::fan_switch}) {
      for (const SavedEntry& entry : entries_) {
        if (entry.role == role) write(entry, entry.text);
      }
    }
  }

  // A rate that was not locked when we found it follows the load, and the duty of a fan whose
  // switch we turned follows the heat, so they are nobody's to verify.
  bool floats(const SavedEntry& entry) const {
    if (entry.role == SavedRole::fan_duty) return partner(entry, SavedRole::fan_switch) != nullptr;
    if (entry.role != SavedRole::memory_rate) return false;
    const SavedEntry* lock = find(SavedRole::memory_lock);
    return lock != nullptr && lock->text == "0";
  }

  // Limits of a cluster that is offline again cannot be read; they were verified before.
  bool asleep(const SavedEntry& entry) const {
    if (entry.role != SavedRole::limit_max && entry.role != SavedRole::limit_min) return false;
    try {
      root_.read(entry.path);
      return false;
    } catch (const FileError& error) {
      return error.code() == EBUSY || error.code() == ENODEV;
    }
  }

  // The kernel has taken the limit, and shows what heat leaves of it until that ends.
  bool hidden_by_heat(const SavedEntry& entry, std::size_t number) const {
    if (entry.role != SavedRole::limit_max && entry.role != SavedRole::limit_min) return false;
    if (heat_.empty() || !taken_[number]) return false;
    const auto saved = integer(entry.text);
    const auto shown = integer(root_.try_read(entry.path).value_or(""));
    return saved && shown && *shown < *saved;
  }

  std::vector<SavedEntry> verify_all() {
    std::vector<SavedEntry> failed;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const SavedEntry& entry = entries_[i];
      if (entry.role >= SavedRole::group) continue;
      if (holds(entry) || floats(entry) || asleep(entry)) {
        const std::string was = before_[i].value_or("unreadable");
        report_.restored.push_back(entry.path + ": " + entry.text +
                                   (was == entry.text ? " (unchanged)" : " (was " + was + ")"));
        continue;
      }
      if (hidden_by_heat(entry, i)) {
        report_.restored.push_back(entry.path + ": " + entry.text + " (reads " +
                                   root_.try_read(entry.path).value_or("nothing") +
                                   " while heat slows the clocks down: " + heat_ + ")");
        continue;
      }
      failed.push_back(entry);
      report_.failed.push_back(entry.path + ": wrote " + entry.text + ", reads " +
                               root_.try_read(entry.path).value_or("nothing") +
                               "; write it by hand, or try again as root");
    }
    return failed;
  }

  Sysroot& root_;
  const std::vector<SavedEntry>& entries_;
  RestoreReport& report_;
  std::vector<std::optional<std::string>> before_;  // indexed like entries_
  std::vector<bool> taken_;                         // the newest write, likewise
  std::string heat_;                                // what slows the clocks down at the end
};

}  // namespace

std::vector<SavedEntry> put_back(Sysroot& root, const std::vector<SavedEntry>& entries,
                                 RestoreReport& report) {
  std::vector<SavedEntry> failed = Restoration(root, entries, report).run();
  const std::vector<SavedEntry> groups = empty_groups(root, entries, report);
  failed.insert(failed.end(), groups.begin(), groups.end());
  const std::vector<SavedEntry> gpus = restore_gpus(root, entries, report);
  failed.insert(failed.end(), gpus.begin(), gpus.end());
  return failed;
}

}  // namespace gearshift

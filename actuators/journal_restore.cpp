#include "actuators/journal_restore.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "actuators/gpu_restore.h"
#include "actuators/group_removal.h"
#include "actuators/heat.h"

namespace gearshift {
namespace {

// A frequency limit takes effect in a kernel worker: a read right after the write may be early.
constexpr int kReadBacks = 200;
// Another program may write between two of our writes.
constexpr int kRounds = 3;
constexpr auto kPause = std::chrono::milliseconds(100);

void pause_for_the_kernel() { std::this_thread::sleep_for(kPause); }

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
    answers_.resize(entries.size(), kNotWritten);
    limit_held_.resize(entries.size());
  }

  std::vector<SavedEntry> run(const RestorePatience& patience) {
    write_all();
    for (int pauses = 0; pauses < patience.pauses && any_is_busy(); ++pauses) {
      patience.pause();
      write_all();
    }
    heat_ = slowed_by_heat(root_);
    return verify_all();
  }

 private:
  static constexpr int kTaken = 0;
  static constexpr int kNotWritten = -1;

  void write_all() {
    switch_cores("1");
    if (any_limit_closed()) wake_all_cores();
    for (const SavedEntry& entry : entries_) {
      if (entry.role == SavedRole::limit_max) restore_limits(entry);
    }
    restore_memory();
    switch_cores("0");
    restore_fan();
  }

  std::size_t number_of(const SavedEntry& entry) const {
    return static_cast<std::size_t>(&entry - entries_.data());
  }

  // What was answered is remembered: verify_all() reads what came of it.
  void write(const SavedEntry& entry, std::string_view text) {
    try {
      root_.write(entry.path, text);
      answers_[number_of(entry)] = kTaken;
    } catch (const FileError& error) {
      answers_[number_of(entry)] = error.code();
    }
  }

  bool any_is_busy() const {
    return std::any_of(entries_.begin(), entries_.end(), [this](const SavedEntry& entry) {
      const int answer = answers_[number_of(entry)];
      return (answer == EBUSY || answer == EAGAIN) && !is_back(entry);
    });
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
      return entry.role == SavedRole::limit_max && !limit_held_[number_of(entry)] &&
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
    // Of a cluster that was woken for it before, and is asleep again as it was found.
    if (limit_held_[number_of(maximum)] && asleep(maximum)) return;
    const auto have_held = [&] {
      if (!holds(maximum) || (minimum != nullptr && !holds(*minimum))) return false;
      limit_held_[number_of(maximum)] = true;
      if (minimum != nullptr) limit_held_[number_of(*minimum)] = true;
      return true;
    };
    for (int round = 0; round < kRounds; ++round) {
      if (minimum == nullptr) {
        write(maximum, maximum.text);
        if (have_held()) return;
        continue;
      }
      const std::optional<std::int64_t> lowest =
          integer(root_.try_read(minimum->path).value_or(""));
      const bool max_first = !lowest || integer(maximum.text).value_or(0) >= *lowest;
      write(max_first ? maximum : *minimum, max_first ? maximum.text : minimum->text);
      write(max_first ? *minimum : maximum, max_first ? minimum->text : maximum.text);
      if (have_held()) return;
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

  // Limits of a cluster that is offline cannot be read.
  bool asleep(const SavedEntry& entry) const {
    if (entry.role != SavedRole::limit_max && entry.role != SavedRole::limit_min) return false;
    try {
      root_.read(entry.path);
      return false;
    } catch (const FileError& error) {
      return error.code() == EBUSY || error.code() == ENODEV;
    }
  }

  bool any_core_is_missing() const {
    return std::any_of(entries_.begin(), entries_.end(), [this](const SavedEntry& entry) {
      return entry.role == SavedRole::core_online && entry.text == "1" && !holds(entry);
    });
  }

  // One that was verified before its cluster went offline again is back. One that never was is not
  // where its cluster may be offline for a core that would not come.
  bool is_back(const SavedEntry& entry) const {
    if (holds(entry) || floats(entry)) return true;
    return asleep(entry) && (limit_held_[number_of(entry)] || !any_core_is_missing());
  }

  // The kernel has taken the limit, and shows what heat leaves of it until that ends.
  bool hidden_by_heat(const SavedEntry& entry) const {
    if (entry.role != SavedRole::limit_max && entry.role != SavedRole::limit_min) return false;
    if (heat_.empty() || answers_[number_of(entry)] != kTaken) return false;
    const auto saved = integer(entry.text);
    const auto shown = integer(root_.try_read(entry.path).value_or(""));
    return saved && shown && *shown < *saved;
  }

  std::vector<SavedEntry> verify_all() {
    std::vector<SavedEntry> failed;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const SavedEntry& entry = entries_[i];
      if (entry.role >= SavedRole::group) continue;
      if (is_back(entry)) {
        const std::string was = before_[i].value_or("unreadable");
        report_.restored.push_back(entry.path + ": " + entry.text +
                                   (was == entry.text ? " (unchanged)" : " (was " + was + ")"));
        continue;
      }
      if (hidden_by_heat(entry)) {
        report_.restored.push_back(entry.path + ": " + entry.text + " (reads " +
                                   root_.try_read(entry.path).value_or("nothing") +
                                   " while heat slows the clocks down: " + heat_ + ")");
        continue;
      }
      failed.push_back(entry);
      const int answer = answers_[i];
      const std::string why =
          answer > kTaken ? std::string(" (") + std::strerror(answer) + ')' : std::string();
      report_.failed.push_back(entry.path + ": wrote " + entry.text + why + ", reads " +
                               root_.try_read(entry.path).value_or("nothing") +
                               "; write it by hand, or try again as root");
    }
    return failed;
  }

  Sysroot& root_;
  const std::vector<SavedEntry>& entries_;
  RestoreReport& report_;
  std::vector<std::optional<std::string>> before_;  // indexed like entries_
  std::vector<int> answers_;                        // errno of the newest write, likewise
  std::vector<bool> limit_held_;                    // seen to read as saved, likewise
  std::string heat_;                                // what slows the clocks down at the end
};

}  // namespace

RestorePatience patience_of_owner() { return {.pauses = 10, .pause = pause_for_the_kernel}; }

RestorePatience patience_of_last() { return {.pauses = 50, .pause = pause_for_the_kernel}; }

std::vector<SavedEntry> put_back(Sysroot& root, const std::vector<SavedEntry>& entries,
                                 const RestorePatience& patience, RestoreReport& report) {
  std::vector<SavedEntry> failed = Restoration(root, entries, report).run(patience);
  const std::vector<SavedEntry> groups = empty_groups(root, entries, report);
  failed.insert(failed.end(), groups.begin(), groups.end());
  const std::vector<SavedEntry> gpus = restore_gpus(root, entries, report);
  failed.insert(failed.end(), gpus.begin(), gpus.end());
  return failed;
}

}  // namespace gearshift

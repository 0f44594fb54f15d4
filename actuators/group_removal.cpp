#include "actuators/group_removal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "actuators/group_files.h"

namespace gearshift {

GroupRemoval::GroupRemoval(Sysroot& root, const std::vector<SavedEntry>& entries,
                           std::string folder, RestoreReport& report)
    : root_(root), folder_(std::move(folder)), report_(report) {
  for (const SavedEntry& entry : entries) {
    if (entry.role == SavedRole::group_home && entry.path == folder_) homes_.push_back(&entry);
  }
}

std::string GroupRemoval::run(int rounds, std::chrono::milliseconds pause) {
  if (!root_.exists(folder_)) return "";
  std::error_code error;
  for (int round = 0; round < rounds; ++round) {
    if (round > 0 && pause.count() > 0) std::this_thread::sleep_for(pause);
    for (const std::int64_t pid : members(root_, folder_)) move_back(pid);
    std::filesystem::remove(real_path(root_, folder_), error);
    if (!error) return "";
    if (error != std::errc::device_or_resource_busy) break;
  }
  return error.message() + (failure_.empty() ? "" : "; " + failure_);
}

void GroupRemoval::move_back(std::int64_t pid) {
  const std::string process = std::to_string(pid);
  const std::string* home = nullptr;
  for (const SavedEntry* entry : homes_) {
    // The newest of its own, because the number may have been another process's before.
    if (home == nullptr || entry->text.starts_with(process + ' ')) home = &entry->text;
  }
  if (home == nullptr) return;
  const std::size_t space = home->find(' ');
  if (space == std::string::npos) return;
  move_to(process, home->substr(space + 1));
}

void GroupRemoval::move_to(const std::string& process, const std::string& home) {
  std::string failure;
  for (std::string group = home; !group.empty(); group = parent_of(group)) {
    try {
      root_.write(group + "/cgroup.procs", process);
      if (group != home) tell_moved(process, home, group);
      return;
    } catch (const FileError& error) {
      if (error.code() == ESRCH) return;
      if (failure.empty()) failure = error.what();
      const bool gone = error.code() == ENOENT || error.code() == ENODEV;
      if (!gone && (group == home || error.code() != EBUSY)) break;
    }
  }
  failure_ = failure;
}

void GroupRemoval::tell_moved(const std::string& process, const std::string& home,
                              const std::string& group) {
  std::string note = folder_ + ": process " + process + " is in " + group + " now: " + home +
                     ", where it was, is gone";
  std::vector<std::string>& notes = report_.notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

namespace {

// What a file of version 2 begins with where nobody has set a limit.
struct Unlimited {
  std::string_view controller, file, text;
};
constexpr std::array<Unlimited, 4> kUnlimited = {{{"cpuset", "cpuset.cpus", ""},
                                                  {"cpuset", "cpuset.mems", ""},
                                                  {"cpu", "cpu.max", "max"},
                                                  {"cpu", "cpu.weight", "100"}}};

// A limit that another group below `parent` would lose with what `change` takes back, in words;
// empty where there is none. The kernel refuses (EBUSY) for the sake of groups of groups alone.
std::string limit_of_another(const Sysroot& root, const std::string& parent,
                             std::string_view change) {
  for (const std::string& group : root.list(parent)) {
    for (const Unlimited& none : kUnlimited) {
      if (!lists(change, ' ', '-' + std::string(none.controller))) continue;
      const std::string file = parent + '/' + group + '/' + std::string(none.file);
      const std::string text = root.try_read(file).value_or(std::string(none.text));
      const bool set = none.text.empty() ? !text.empty() : !lists(text, ' ', none.text);
      if (set) return file + " reads " + text;
    }
  }
  return "";
}

}  // namespace

std::vector<SavedEntry> empty_groups(Sysroot& root, const std::vector<SavedEntry>& entries,
                                     RestoreReport& report) {
  constexpr int kRounds = 1000;
  constexpr auto kDyingPause = std::chrono::milliseconds(1);
  std::vector<SavedEntry> failed;
  for (const SavedEntry& group : entries) {
    if (group.role != SavedRole::group) continue;
    const std::string failure =
        GroupRemoval(root, entries, group.path, report).run(kRounds, kDyingPause);
    if (failure.empty()) {
      report.restored.push_back(group.path + ": processes moved back, control group removed");
      continue;
    }
    report.failed.push_back(group.path + ": the control group stays: " + failure);
    for (const SavedEntry& entry : entries) {
      if (entry.role >= SavedRole::group && entry.path == group.path) failed.push_back(entry);
    }
  }
  // A group above has to keep a controller on while one below it does.
  for (auto at = entries.rbegin(); at != entries.rend(); ++at) {
    const SavedEntry& entry = *at;
    if (entry.role != SavedRole::controllers) continue;
    const std::string limit = limit_of_another(root, parent_of(entry.path), entry.text);
    if (!limit.empty()) {
      report.notes.push_back(entry.path + ": " + entry.text + " is not written, for " + limit +
                             ": a limit that somebody has set meanwhile, and that would go");
      continue;
    }
    try {
      root.write(entry.path, entry.text);
      report.restored.push_back(entry.path + ": " + entry.text);
    } catch (const FileError& error) {
      // Another program makes use of the controller by now: leaving it on harms nobody.
      report.notes.push_back(error.what());
    }
  }
  return failed;
}

}  // namespace gearshift

#include "actuators/control_group.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "actuators/number_list.h"
#include "actuators/process_user.h"
#include "controller/actuator.h"

namespace gearshift {
namespace {

constexpr std::size_t kMostProcesses = 1024;

std::string group_name() { return "gearshift-" + std::to_string(getpid()); }

// Whether `list`, separated by `separator`, has `item`.
bool lists(std::string_view list, char separator, std::string_view item) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    if (list.substr(0, end) == item) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

std::filesystem::path real_path(const Sysroot& root, const std::string& path) {
  return root.prefix() / std::filesystem::path(path).relative_path();
}

std::string parent_of(const std::string& folder) { return folder.substr(0, folder.rfind('/')); }

// "<hierarchy number>:<controllers>:<path>" lines of /proc/PID/cgroup; version 2 has "0::<path>".
std::optional<std::string> path_in(std::string_view lines, std::string_view controller) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', std::min(first, line.size() - 1) + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool here = controller.empty() ? line.substr(0, first) == "0" && controllers.empty()
                                         : lists(controllers, ',', controller);
    if (here) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

std::vector<std::int64_t> members(const Sysroot& root, const std::string& folder) {
  std::string text = root.try_read(folder + "/cgroup.procs").value_or("");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return parse_numbers(text);
}

// A process and its descendants that run as the same user (all of root's).
std::vector<std::int32_t> family_of(const Sysroot& root, std::int32_t pid) {
  const std::optional<std::uint32_t> user = user_of_process(root, pid);
  std::vector<std::int32_t> family = {pid};
  for (std::size_t i = 0; i < family.size(); ++i) {
    const std::string tasks = "/proc/" + std::to_string(family[i]) + "/task";
    for (const std::string& task : root.list(tasks)) {
      const auto children = root.try_read(tasks + '/' + task + "/children");
      for (const std::int64_t child : parse_numbers(children.value_or(""))) {
        if (user != 0u && user_of_process(root, child) != user) continue;
        if (family.size() == kMostProcesses) return family;
        family.push_back(static_cast<std::int32_t>(child));
      }
    }
  }
  return family;
}

}  // namespace

ControlGroup::ControlGroup(Sysroot& root, const std::string& mount, std::string controller)
    : root_(root), controller_(std::move(controller)) {
  const std::string controllers = root.try_read(mount + "/cgroup.controllers").value_or("");
  if (lists(controllers, ' ', controller_)) {
    version_ = Version::v2;
    hierarchy_ = mount;
  }
  for (const std::string& entry : root.list(mount)) {
    const std::string folder = mount + '/' + entry;
    if (!lists(entry, ',', controller_) || !root.exists(folder + "/cgroup.procs")) continue;
    version_ = Version::v1;
    hierarchy_ = folder;
  }
  if (hierarchy_.empty()) {
    throw KnobError("no control group hierarchy with the " + controller_ + " controller below " +
                    mount);
  }
  own_home_ = home_of("self");
  const std::string place =
      version_ == Version::v1 || own_home_ == hierarchy_ ? own_home_ : parent_of(own_home_);
  if (!root.writable(place)) {
    throw KnobError("no control group can be made in " + place +
                    ": not writable; run as root, or delegate the group to this user");
  }
}

bool ControlGroup::empty() const { return !made() || members(root_, folder_).empty(); }

std::string ControlGroup::home_of(const std::string& process) const {
  const std::string file = "/proc/" + process + "/cgroup";
  const auto path = path_in(root_.read(file), version_ == Version::v1 ? controller_ : "");
  if (!path) throw KnobError(file + " names no group with the " + controller_ + " controller");
  std::string folder = hierarchy_ + (*path == "/" ? "" : *path);
  if (!root_.exists(folder + "/cgroup.procs")) {
    throw KnobError("the control group of process " + process + ", " + *path +
                    ", cannot be reached below " + hierarchy_);
  }
  return folder;
}

void ControlGroup::enable_controller(const std::string& parent, KnobJournal& journal) {
  const std::string file = parent + "/cgroup.subtree_control";
  if (lists(root_.read(file), ' ', controller_)) return;
  journal.save(SavedRole::controllers, file, '-' + controller_);
  journal.commit();
  root_.write(file, '+' + controller_);
}

void ControlGroup::make(std::int32_t pid, KnobJournal& journal) {
  if (made()) return;
  const std::string home = home_of(std::to_string(pid));
  const bool ours = home.ends_with('/' + group_name());  // made for the other controller
  const bool inside = version_ == Version::v1 || home == hierarchy_;
  const std::string folder = ours ? home : (inside ? home : parent_of(home)) + '/' + group_name();
  if (version_ == Version::v2) enable_controller(parent_of(folder), journal);
  journal.save(SavedRole::group, folder, "");
  journal.commit();
  std::error_code error;
  std::filesystem::create_directory(real_path(root_, folder), error);
  if (error) throw KnobError("cannot make the control group " + folder + ": " + error.message());
  folder_ = folder;
}

void ControlGroup::find(const KnobJournal& journal) {
  for (const SavedEntry& entry : journal.entries()) {
    const bool here = entry.role == SavedRole::group && entry.path.starts_with(hierarchy_ + '/');
    if (here && root_.exists(entry.path + "/cgroup.procs")) folder_ = entry.path;
  }
}

// A home is on disk before its process is moved, and one commit costs as much as another: a process
// with all that it has started is saved at once. What it starts meanwhile is met in another round.
void ControlGroup::adopt(std::int32_t pid, KnobJournal& journal) {
  constexpr int kRounds = 10;
  journal.forget_homes(folder_, members(root_, folder_));
  std::set<std::int32_t> met;
  std::string failure;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<std::int32_t> found = save_homes(pid, met, journal, failure);
    if (found.empty()) break;
    journal.commit();
    for (const std::int32_t process : found) {
      try {
        root_.write(folder_ + "/cgroup.procs", std::to_string(process));
      } catch (const FileError&) {
        // It has ended meanwhile: a child lives as short as it likes.
        if (process == pid) throw;
      }
    }
  }
  if (!failure.empty()) throw KnobError(failure);
}

// Of the family of `pid` those that are elsewhere and are not `met`. What keeps one of its
// descendants from being saved is no reason to leave the others.
std::vector<std::int32_t> ControlGroup::save_homes(std::int32_t pid, std::set<std::int32_t>& met,
                                                   KnobJournal& journal, std::string& failure) {
  std::vector<std::int32_t> found;
  for (const std::int32_t process : family_of(root_, pid)) {
    if (!met.insert(process).second) continue;
    try {
      const std::string number = std::to_string(process);
      const std::string home = home_of(number);
      if (home == folder_) continue;
      journal.save(SavedRole::group_home, folder_, number + ' ' + home);
      found.push_back(process);
    } catch (const FileError&) {
      if (process == pid) throw;  // else it has ended
    } catch (const KnobError& error) {
      if (process == pid) throw;
      if (failure.empty()) failure = error.what();
    } catch (const std::runtime_error& error) {  // the journal is full
      if (process == pid) throw;
      failure = error.what();
      break;
    }
  }
  return found;
}

namespace {

// Empties and removes one group.
class GroupRemoval {
 public:
  GroupRemoval(Sysroot& root, const std::vector<SavedEntry>& entries, std::string folder,
               RestoreReport& report)
      : root_(root), folder_(std::move(folder)), report_(report) {
    for (const SavedEntry& entry : entries) {
      if (entry.role == SavedRole::group_home && entry.path == folder_) homes_.push_back(&entry);
    }
  }

  // Empty on success, else why not.
  std::string run() {
    constexpr int kRounds = 1000;
    if (!root_.exists(folder_)) return "";
    std::error_code error;
    for (int round = 0; round < kRounds; ++round) {
      for (const std::int64_t pid : members(root_, folder_)) move_back(pid);
      std::filesystem::remove(real_path(root_, folder_), error);
      if (!error) return "";
      if (error != std::errc::device_or_resource_busy) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return error.message() + (failure_.empty() ? "" : "; " + failure_);
  }

 private:
  void move_back(std::int64_t pid) {
    const std::string process = std::to_string(pid);
    const std::string* home = nullptr;
    for (const SavedEntry* entry : homes_) {
      // The newest of its own, because the number may have been another process's before.
      if (home == nullptr || entry->text.starts_with(process + ' ')) home = &entry->text;
    }
    if (home == nullptr) return;
    const std::size_t space = home->find(' ');
    if (space == std::string::npos) return;
    move_back(process, home->substr(space + 1));
  }

  // systemd removes a scope when nothing is in it any more: what came from there goes to the
  // nearest group above it that takes processes. Of version 2 one with groups of its own may not.
  void move_back(const std::string& process, const std::string& home) {
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

  void tell_moved(const std::string& process, const std::string& home, const std::string& group) {
    std::string note = folder_ + ": process " + process + " is in " + group + " now: " + home +
                       ", where it was, is gone";
    std::vector<std::string>& notes = report_.notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
  }

  Sysroot& root_;
  const std::string folder_;
  RestoreReport& report_;
  std::vector<const SavedEntry*> homes_;
  std::string failure_;
};

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
  std::vector<SavedEntry> failed;
  for (const SavedEntry& group : entries) {
    if (group.role != SavedRole::group) continue;
    const std::string failure = GroupRemoval(root, entries, group.path, report).run();
    if (failure.empty()) {
      report.restored.push_back(group.path + ": processes moved back, control group removed");
      continue;
    }
    report.failed.push_back(group.path + ": the control group stays: " + failure);
    for (const SavedEntry& entry : entries) {
      if (entry.role >= SavedRole::group && entry.path == group.path) failed.push_back(entry);
    }
  }
  for (const SavedEntry& entry : entries) {
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

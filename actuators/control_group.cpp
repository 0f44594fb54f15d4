#include "actuators/control_group.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "actuators/group_files.h"
#include "actuators/group_removal.h"
#include "actuators/guardian.h"
#include "actuators/number_list.h"
#include "actuators/process_user.h"
#include "controller/actuator.h"

namespace gearshift {
namespace {

constexpr std::size_t kMostProcesses = 1024;

std::string group_name() { return "gearshift-" + std::to_string(getpid()); }

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

// A process and its descendants that run as the same user (all of root's), but for those `left_out`
// and what they have started.
std::vector<std::int32_t> family_of(const Sysroot& root, std::int32_t pid,
                                    const std::set<std::int32_t>& left_out = {}) {
  const std::optional<std::uint32_t> user = user_of_process(root, pid);
  std::vector<std::int32_t> family = {pid};
  for (std::size_t i = 0; i < family.size(); ++i) {
    const std::string tasks = "/proc/" + std::to_string(family[i]) + "/task";
    for (const std::string& task : root.list(tasks)) {
      const auto children = root.try_read(tasks + '/' + task + "/children");
      for (const std::int64_t child : parse_numbers(children.value_or(""))) {
        if (left_out.contains(static_cast<std::int32_t>(child))) continue;
        if (user != 0u && user_of_process(root, child) != user) continue;
        if (family.size() == kMostProcesses) return family;
        family.push_back(static_cast<std::int32_t>(child));
      }
    }
  }
  return family;
}

// Root without CAP_DAC_OVERRIDE, as the helper's unit has it, may not write to what is a user's.
std::string what_root_lacks(const std::string& why, int code) {
  if (geteuid() != 0 || (code != EACCES && code != EPERM)) return why;
  return why + ": root lacks CAP_DAC_OVERRIDE, or the group is read-only here; give the helper " +
         "gearshift-helper-groups.conf (packaging/systemd)";
}

}  // namespace

ControlGroup::ControlGroup(Sysroot& root, const std::string& mount, std::string controller)
    : root_(root), controller_(std::move(controller)), own_({getpid()}) {
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
  const std::string place = place_beside(own_home_);
  if (!root.writable(place)) {
    throw KnobError("no control group can be made in " + place +
                    ": not writable; run as root, or delegate the group to this user");
  }
  const std::vector<std::string> missing = without_controller(place);
  if (!missing.empty() && !root.writable(missing.front())) {
    throw KnobError("the groups in " + place + " have no " + controller_ + " controller, and " +
                    missing.front() +
                    " is not writable; run as root, or delegate the controller to this user");
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

std::string ControlGroup::place_beside(const std::string& home) const {
  return version_ == Version::v1 || home == hierarchy_ ? home : parent_of(home);
}

// The files of version 2 that would have to enable the controller, from the hierarchy's root down,
// for the groups in `place` to have it.
std::vector<std::string> ControlGroup::without_controller(const std::string& place) const {
  std::vector<std::string> files;
  if (version_ == Version::v1) return files;
  for (std::string group = place; group.size() >= hierarchy_.size(); group = parent_of(group)) {
    const std::string file = group + "/cgroup.subtree_control";
    if (!lists(root_.read(file), ' ', controller_)) files.insert(files.begin(), file);
  }
  return files;
}

void ControlGroup::enable_controller(const std::string& place, KnobJournal& journal) {
  const std::vector<std::string> files = without_controller(place);
  for (const std::string& file : files) {
    journal.save(SavedRole::controllers, file, '-' + controller_);
  }
  journal.commit();
  for (const std::string& file : files) root_.write(file, '+' + controller_);
}

void ControlGroup::make(std::int32_t pid, KnobJournal& journal) {
  if (made()) {
    if (root_.exists(folder_ + "/cgroup.procs")) return;
    journal.forget_group(std::exchange(folder_, {}));  // gone with the group that it was made in
  }
  const std::string home = home_of(std::to_string(pid));
  const bool ours = home.ends_with('/' + group_name());  // made for the other controller
  const std::string folder = ours ? home : place_beside(home) + '/' + group_name();
  if (version_ == Version::v2) enable_controller(parent_of(folder), journal);
  journal.save(SavedRole::group, folder, "");
  journal.commit();
  std::error_code error;
  std::filesystem::create_directory(real_path(root_, folder), error);
  if (error) {
    throw KnobError(what_root_lacks(
        "cannot make the control group " + folder + ": " + error.message(), error.value()));
  }
  folder_ = folder;
  first_home_ = ours ? saved_home(journal) : home;
}

// Where the first process of the group was, or the group around it where none is saved.
std::string ControlGroup::saved_home(const KnobJournal& journal) const {
  for (const SavedEntry& entry : journal.entries()) {
    if (entry.role != SavedRole::group_home || entry.path != folder_) continue;
    return entry.text.substr(std::min(entry.text.find(' ') + 1, entry.text.size()));
  }
  return parent_of(folder_);
}

void ControlGroup::find(const KnobJournal& journal) {
  for (const SavedEntry& entry : journal.entries()) {
    const bool here = entry.role == SavedRole::group && entry.path.starts_with(hierarchy_ + '/');
    if (here && root_.exists(entry.path + "/cgroup.procs")) folder_ = entry.path;
  }
  if (made()) first_home_ = saved_home(journal);
}

// A workload's pid is what a client says it is. One in a container counts its processes from 1.
void ControlGroup::require_workload(std::int32_t pid) const {
  if (pid == 1) {
    throw KnobError(
        "process 1 is not managed: it is the first of this machine or container, which starts the "
        "others. Let a trainer in a container share the process ids of the daemon (docker run "
        "--pid), or where both are in one, start it with docker run --init");
  }
  const std::string name = root_.try_read("/proc/" + std::to_string(pid) + "/comm").value_or("");
  if (own_.contains(pid) || name == kGuardianName) {
    throw KnobError("process " + std::to_string(pid) + " is not managed: it is gearshift's own");
  }
}

// A home is on disk before its process is moved, and one commit costs as much as another: a process
// with all that it has started is saved at once. What it starts meanwhile is met in another round.
void ControlGroup::adopt(std::int32_t pid, KnobJournal& journal) {
  constexpr int kRounds = 10;
  require_workload(pid);
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
      } catch (const FileError& error) {
        // It has ended meanwhile: a child lives as short as it likes.
        if (process == pid) throw KnobError(what_root_lacks(error.what(), error.code()));
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
  for (const std::int32_t process : family_of(root_, pid, own_)) {
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

// A child that one of them has started meanwhile is met in another round.
void ControlGroup::let_go(std::int32_t pid, std::int32_t stays, KnobJournal& journal) {
  constexpr int kRounds = 10;
  RestoreReport report;
  GroupRemoval removal(root_, journal.entries(), folder_, report);
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<std::int64_t> in = members(root_, folder_);
    const std::vector<std::int32_t> kept = family_of(root_, stays, own_);
    bool moved = false;
    for (const std::int32_t process : family_of(root_, pid, {kept.begin(), kept.end()})) {
      if (std::find(in.begin(), in.end(), process) == in.end()) continue;
      if (std::find(kept.begin(), kept.end(), process) != kept.end()) continue;
      removal.move_back(process);
      moved = true;
    }
    if (!moved) return;
  }
  if (!removal.failure().empty()) {
    throw KnobError(folder_ + ": process " + std::to_string(pid) +
                    ", which has left, stays in it: " + removal.failure());
  }
}

void ControlGroup::dissolve(KnobJournal& journal) {
  constexpr int kRounds = 10;
  if (!made()) return;
  RestoreReport report;
  const std::string failure =
      GroupRemoval(root_, journal.entries(), folder_, report).run(kRounds, {});
  if (failure.empty()) {
    journal.forget_group(std::exchange(folder_, {}));
  } else if (!empty()) {
    throw KnobError(folder_ + ": a workload that has left stays in it: " + failure);
  }
}

}  // namespace gearshift

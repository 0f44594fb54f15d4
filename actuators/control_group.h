// A control group of our own, which holds the managed workloads so that their CPU time can be set.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "actuators/knob_journal.h"
#include "boards/sysroot.h"

namespace gearshift {

// The group is "gearshift-<pid of the daemon>". In version 1 it is made inside the group that the
// first process is found in, so that the limits of that one hold on. Version 2 allows no processes
// beside such a group, so it is made next to it (inside it where it is the root). Processes started
// by a member are members; so are those that a process had started before it was adopted. Processes
// of gearshift's own are none, whoever started them: who sets the limits is not held by them.
class ControlGroup {
 public:
  enum class Version : std::uint8_t { v1, v2 };

  // Finds the hierarchy of `controller` ("cpu", "cpuset") below `mount`. Throws KnobError where
  // there is none or this user may not make a group in it.
  ControlGroup(Sysroot& root, const std::string& mount, std::string controller);

  Version version() const { return version_; }
  // The group this program was found in: what limits hold for it hold for its groups.
  const std::string& own_home() const { return own_home_; }
  // Board path of the hierarchy's root.
  const std::string& hierarchy() const { return hierarchy_; }
  // The group that its first process was found in; empty until made.
  const std::string& first_home() const { return first_home_; }
  // Another process of gearshift's own, beside this one and what that has started.
  void spare(std::int32_t pid) { own_.insert(pid); }
  bool made() const { return !folder_.empty(); }
  // Whether no process is in it, made or not.
  bool empty() const;
  // Board path of the group; empty until made.
  const std::string& folder() const { return folder_; }

  // Makes the group for a first process `pid`, unless it is there. Journalled before. Throws
  // KnobError and FileError.
  void make(std::int32_t pid, KnobJournal& journal);
  // The group that another process has made by its journal, the newest; none where it has gone.
  void find(const KnobJournal& journal);
  // Moves the process with all its threads in, and those of its descendants that run as the same
  // user (all of root's): what it started by sudo is another's. Where each was is journalled
  // before, for all that are found at once by one commit. Throws KnobError and FileError; one that
  // tells of a descendant alone when all others are in. Process 1 and gearshift's own are refused.
  void adopt(std::int32_t pid, KnobJournal& journal);
  // Moves those of the family of `pid` back to where they were that are not of the family of
  // `stays`. Throws KnobError where one would not go.
  void let_go(std::int32_t pid, std::int32_t stays, KnobJournal& journal);
  // Moves every member back and removes the group, made or not; the journal forgets it. One that
  // the kernel keeps for a moment, for the sake of members that are dying, stays made. Throws
  // KnobError where a member would not go, std::runtime_error where the journal cannot be written.
  void dissolve(KnobJournal& journal);
  // The journal has removed the group.
  void forget() { folder_.clear(); }

 private:
  std::string home_of(const std::string& process) const;
  std::string place_beside(const std::string& home) const;
  std::vector<std::string> without_controller(const std::string& place) const;
  void enable_controller(const std::string& place, KnobJournal& journal);
  std::string saved_home(const KnobJournal& journal) const;
  void require_workload(std::int32_t pid) const;
  std::vector<std::int32_t> save_homes(std::int32_t pid, std::set<std::int32_t>& met,
                                       KnobJournal& journal, std::string& failure);

  Sysroot& root_;
  const std::string controller_;
  Version version_ = Version::v1;
  std::string hierarchy_;  // board path of its mount
  std::string own_home_;
  std::string folder_;
  std::string first_home_;
  std::set<std::int32_t> own_;
};

}  // namespace gearshift

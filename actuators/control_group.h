// A control group of our own, which holds the managed workloads so that their CPU time can be set.
// Removing one sleeps, up to a second and in steps of a millisecond, while a member that was killed
// is still dying: the kernel refuses to remove its group and version 1 does not tell when it is
// gone.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "actuators/journal_text.h"
#include "actuators/knob_journal.h"
#include "boards/sysroot.h"

namespace gearshift {

// The group is "gearshift-<pid of the daemon>". In version 1 it is made inside the group that the
// first process is found in, so that the limits of that one hold on. Version 2 allows no processes
// beside such a group, so it is made next to it (inside it where it is the root). Processes started
// by a member are members; so are those that a process had started before it was adopted.
class ControlGroup {
 public:
  enum class Version : std::uint8_t { v1, v2 };

  // Finds the hierarchy of `controller` ("cpu", "cpuset") below `mount`. Throws KnobError where
  // there is none or this user may not make a group in it.
  ControlGroup(Sysroot& root, const std::string& mount, std::string controller);

  Version version() const { return version_; }
  // The group this program was found in: what limits hold for it hold for its groups.
  const std::string& own_home() const { return own_home_; }
  bool made() const { return !folder_.empty(); }
  // Whether no process is in it, made or not.
  bool empty() const;
  // Board path of the group; empty until made.
  const std::string& folder() const { return folder_; }

  // Makes the group for a first process `pid`, unless it is made. Journalled before. Throws
  // KnobError and FileError.
  void make(std::int32_t pid, KnobJournal& journal);
  // The group that another process has made by its journal, the newest; none where it has gone.
  void find(const KnobJournal& journal);
  // Moves the process with all its threads in, and those of its descendants that run as the same
  // user (all of root's): what it started by sudo is another's. Where each was is journalled
  // before, for all that are found at once by one commit. Throws KnobError and FileError; one that
  // tells of a descendant alone when all others are in.
  void adopt(std::int32_t pid, KnobJournal& journal);
  // The journal has removed the group.
  void forget() { folder_.clear(); }

 private:
  std::string home_of(const std::string& process) const;
  void enable_controller(const std::string& parent, KnobJournal& journal);
  std::vector<std::int32_t> save_homes(std::int32_t pid, std::set<std::int32_t>& met,
                                       KnobJournal& journal, std::string& failure);

  Sysroot& root_;
  const std::string controller_;
  Version version_ = Version::v1;
  std::string hierarchy_;  // board path of its mount
  std::string own_home_;
  std::string folder_;
};

// Moves the members of every saved group back to where they were, or to where the group's first one
// was for those that came later, and removes the groups. Where such a place is gone, the nearest
// group above it that takes processes stands in for it. Returns the entries of groups that would
// not go. Tells in `report`.
std::vector<SavedEntry> empty_groups(Sysroot& root, const std::vector<SavedEntry>& entries,
                                     RestoreReport& report);

}  // namespace gearshift

// Takes processes out of a control group of ours again, and the group away.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "actuators/journal_text.h"
#include "actuators/knob_journal.h"
#include "boards/sysroot.h"

namespace gearshift {

// Of one group, by what is saved of it.
class GroupRemoval {
 public:
  // `entries` and `report` outlive it.
  GroupRemoval(Sysroot& root, const std::vector<SavedEntry>& entries, std::string folder,
               RestoreReport& report);

  // Moves a member to where it was, or to where the group's first one was if it came later. systemd
  // removes a scope when nothing is in it any more: what came from there goes to the nearest group
  // above it that takes processes. Of version 2 one with groups of its own may not.
  void move_back(std::int64_t pid);
  // Why the newest one could not be moved that could not; empty where all could.
  const std::string& failure() const { return failure_; }
  // Moves every member back and removes the group. Tries again, `rounds` times in all and `pause`
  // apart, while one has started another meanwhile, or one that was killed is still dying: the
  // kernel refuses to remove its group and version 1 does not tell when it is gone. Empty on
  // success, else why not.
  std::string run(int rounds, std::chrono::milliseconds pause);

 private:
  void move_to(const std::string& process, const std::string& home);
  void tell_moved(const std::string& process, const std::string& home, const std::string& group);

  Sysroot& root_;
  const std::string folder_;
  RestoreReport& report_;
  std::vector<const SavedEntry*> homes_;
  std::string failure_;
};

// Does that for every saved group, for up to a second, and takes back what was enabled for them.
// Returns the entries of groups that would not go. Tells in `report`.
std::vector<SavedEntry> empty_groups(Sysroot& root, const std::vector<SavedEntry>& entries,
                                     RestoreReport& report);

}  // namespace gearshift

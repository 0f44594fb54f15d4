// A process beside the daemon's: the second line where the first can do nothing any more. It puts
// the knobs back when the daemon dies, SIGKILL included, and steps to the safe mode when the
// daemon's loop stands still.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/clock.h"

namespace gearshift {

// Says once that a loop stands still: when its count of beats has not grown for so many looks.
class StallWatch {
 public:
  explicit StallWatch(int patience_looks) : patience_(patience_looks) {}

  // True at the look at which patience ends, and not again before the loop has gone on. A loop that
  // has never beaten has not begun.
  bool look(std::uint64_t beats);

 private:
  const int patience_;
  std::uint64_t beats_ = 0;
  int unchanged_ = 0;
};

struct GuardianOptions {
  std::filesystem::path journal;  // where the daemon saves how it finds the knobs
  // The guardian looks ten times in it; then a loop that has not gone on stands still.
  Duration patience = std::chrono::seconds(1);
  // In the guardian's process, for people: what it did, one sentence a call.
  void (*tell)(const std::string&) = nullptr;
  // What `tell` calls the process that is watched.
  const char* watched = "the daemon";
  // Descriptors of that process which the guardian's must not keep open.
  std::vector<int> closed = {};
};

class Guardian {
 public:
  // Forks; so before the first thread. Borrows all three for the life of both processes. Throws
  // std::runtime_error where the system has no process or memory to spare.
  Guardian(const BoardDescription& board, Sysroot& root, const Clock& clock,
           const GuardianOptions& options);
  // The daemon ends as it should: the guardian ends too and touches nothing.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // The loop goes on.
  void beat();
  // False once somebody has killed it.
  bool alive();
  // How often it has found that the loop stands still, to step to the safe mode in its stead.
  std::uint32_t steps() const;

 private:
  struct Shared;

  Shared* shared_ = nullptr;  // one page that both processes see
  int lifeline_ = -1;         // closes with the daemon, however it ends
  pid_t child_ = -1;
};

// Sets the board to its safe mode though another process holds the journal: only knobs whose state
// is saved there. Returns what could not be set, empty where all was; nullopt where no step may be
// made, or went on being made (see Step).
std::optional<std::string> step_to_safe_mode(const BoardDescription& board, Sysroot& root,
                                             const Clock& clock,
                                             const std::filesystem::path& journal);

}  // namespace gearshift

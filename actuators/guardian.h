// A process beside the daemon's: the second line where the first can do nothing any more. It puts
// the knobs back when the daemon dies, SIGKILL included, and steps to the safe mode when the
// daemon's loop stands still.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/clock.h"

namespace gearshift {

// What /proc/PID/comm says of one.
inline constexpr const char* kGuardianName = "gs-guardian";

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
  // How long it may take to end once it is told goodbye, before it is killed.
  Duration farewell = std::chrono::seconds(2);
};

enum class GuardianState : std::uint8_t { watches, stopped, killed };

class Guardian {
 public:
  // Forks; so before the first thread. What ends the daemon by Ctrl-C or SIGTERM spares the
  // guardian. Borrows all three for the life of both processes. Throws std::runtime_error where the
  // system has no process or memory to spare.
  Guardian(const BoardDescription& board, Sysroot& root, const Clock& clock,
           const GuardianOptions& options);
  // The daemon ends as it should: the guardian ends too and touches nothing, by SIGKILL where it
  // does not react. Does not wait for what no signal ends.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  // The loop goes on.
  void beat();
  // What somebody has done to it (SIGSTOP, SIGKILL), as of now.
  GuardianState state();
  // The same in a sentence for people, once each time that it is stopped or killed; else empty.
  std::string take_news();
  // True while knobs are saved that it is to put back: for GuardianTerms.
  std::atomic<bool>& saved() const;
  // Lets it go on where somebody has stopped it.
  void wake() const;
  // The knobs that this process could not put back are the guardian's, which puts them back and
  // ends. Once the journal has been let go of; nothing else may be asked of it then but state().
  void hand_over();
  // How often it has found that the loop stands still, to step to the safe mode in its stead.
  std::uint32_t steps() const;

 private:
  struct Shared;

  // In the guardian's process, to its end.
  [[noreturn]] void watch(const BoardDescription& board, Sysroot& root, const Clock& clock,
                          const GuardianOptions& options, int lifeline, pid_t daemon);
  bool ends_within(Duration patience);

  const Duration farewell_;
  Shared* shared_ = nullptr;  // one page that both processes see
  int lifeline_ = -1;         // closes with the daemon, however it ends
  pid_t child_ = -1;
  GuardianState state_ = GuardianState::watches;
  GuardianState told_ = GuardianState::watches;
};

// Sets the board to its safe mode though another process holds the journal: only knobs whose state
// is saved there. Returns what could not be set, empty where all was; nullopt where no step may be
// made, or went on being made (see Step).
std::optional<std::string> step_to_safe_mode(const BoardDescription& board, Sysroot& root,
                                             const Clock& clock,
                                             const std::filesystem::path& journal);

}  // namespace gearshift

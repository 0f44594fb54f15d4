// Remembers on disk how every knob was found, so that it can be put back, by this process or, after
// SIGKILL, by the next one. The journal's text is specified in actuators/journal_text.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "actuators/journal_text.h"
#include "boards/sysroot.h"

namespace gearshift {

// Another daemon holds the journal: what() names its pid and the journal.
struct BusyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What became of each saved file, one sentence each.
struct RestoreReport {
  std::vector<std::string> restored;  // "/sys/.../scaling_max_freq: 2201600"
  std::vector<std::string> failed;    // "/sys/.../scaling_max_freq: wrote 2201600, still 1113600"
  std::vector<std::string> notes;     // why nothing was written: no journal, or one of another boot
};

// Puts back what a journal saved and removes the journal, unless something failed. A journal of
// another boot is only compared (a reboot put the board at its defaults) and removed. Throws
// BusyError while a daemon holds the journal, JournalError for one that is damaged, was made under
// another sysroot prefix, or belongs to neither this user nor root (nothing is written),
// std::runtime_error where it cannot be read.
RestoreReport restore_from_journal(Sysroot& root, const std::filesystem::path& journal);

// Whether a lock whose file says `holder` will be free in a moment: it is held to restore, by a
// daemon that is dying, or by somebody who has not yet written over the pid of one that is dead.
bool lock_passes(const std::string& holder);

// The lock that makes a daemon the only one to write a board's knobs: `<journal>.lock`, with the
// holder's pid inside, held for life. The kernel frees it when the process dies in any way. Its
// owner alone may open it.
class JournalLock {
 public:
  // What it is held for: life, or the moments that putting the knobs back takes.
  enum class Purpose : std::uint8_t { writing, restoring };

  // Waits up to 5 s for one that restores. Throws BusyError, or std::runtime_error where the file
  // cannot be made.
  JournalLock(const std::filesystem::path& journal, Purpose purpose);
  ~JournalLock();
  JournalLock(const JournalLock&) = delete;
  JournalLock& operator=(const JournalLock&) = delete;

 private:
  int descriptor_ = -1;
};

enum class JournalUse : std::uint8_t {
  own,     // lock it, restore what an earlier daemon left in it, save anew
  beside,  // another process has it: know what is saved, and save nothing
};

class KnobJournal {
 public:
  // Opens the journal at `path`; to own it, makes its folder where needed. What would not go back
  // stays saved. Throws as restore_from_journal does.
  KnobJournal(Sysroot& root, std::filesystem::path path, JournalUse use = JournalUse::own);

  // What the constructor found and put back.
  const RestoreReport& leftover() const { return leftover_; }
  bool has(SavedRole role, std::string_view path) const;
  // Adds an entry, which is on disk after the next commit. A file that is saved already keeps its
  // first text. Throws std::runtime_error where the journal would be longer than can be read.
  void save(SavedRole role, std::string_view path, std::string_view text);
  // Takes an entry back, on disk too: what it was saved for was refused.
  void forget(SavedRole role, std::string_view path);
  // Forgets where processes were that are in a group no more; not the first one, whose home is
  // that of those who came later.
  void forget_homes(std::string_view group, std::span<const std::int64_t> members);
  // Writes the entries to disk and returns when they are there (file and folder synced). Does
  // nothing where all are. Throws std::runtime_error, beside another process for any new entry.
  void commit();
  // Puts everything back; removes the journal unless something failed. Later saves begin a new one.
  // The owner's.
  RestoreReport restore();

 private:
  Sysroot& root_;
  const std::filesystem::path path_;
  std::optional<JournalLock> lock_;  // the owner's
  JournalText text_;
  bool committed_ = true;
  RestoreReport leftover_;
};

}  // namespace gearshift

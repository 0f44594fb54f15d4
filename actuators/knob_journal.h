// Remembers on disk how every knob was found, so that it can be put back, by this process or, after
// SIGKILL, by the next one. The journal's text is specified in actuators/journal_text.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "actuators/holder_lock.h"
#include "actuators/journal_text.h"
#include "actuators/step_bar.h"
#include "boards/sysroot.h"

namespace gearshift {

// What became of each saved file, one sentence each.
struct RestoreReport {
  std::vector<std::string> restored;  // "/sys/.../scaling_max_freq: 2201600"
  std::vector<std::string> failed;    // "/sys/.../scaling_max_freq: wrote 2201600, still 1113600"
  std::vector<std::string> notes;     // why nothing was written: no journal, or one of another boot
  // Why the journal is still there though everything is back; a note too.
  std::string unremoved;
};

// Puts back what a journal saved and removes the journal, unless something failed. A journal of
// another boot is only compared (a reboot put the board at its defaults) and removed. One that
// cannot be removed, its file system having turned read-only, is not put back twice. Throws
// BusyError while a daemon holds the journal or the board, or a guardian's step goes on for longer
// than `step_patience`, JournalError for one that is damaged, was made under another sysroot
// prefix, is of files none of which is there, or belongs to neither this user nor root (nothing is
// written), std::runtime_error where it cannot be read.
RestoreReport restore_from_journal(Sysroot& root, const std::filesystem::path& journal,
                                   std::chrono::milliseconds step_patience = kLastStepPatience);

enum class JournalUse : std::uint8_t {
  own,        // lock it, restore what an earlier daemon left in it, save anew
  own_board,  // and lock the board, which others may keep a journal of elsewhere
  beside,     // another process has it: know what is saved, and save nothing
};

// What the owner of a journal agrees upon with the guardian beside it.
struct GuardianTerms {
  // Whether the file is to be there: true from the first commit until its entries are back. Both
  // processes see it; null: nobody asks.
  std::atomic<bool>* saved = nullptr;
  std::chrono::milliseconds step_patience = kStepPatience;
};

class KnobJournal {
 public:
  // Opens the journal at `path`; to own it, makes its folder where needed. What would not go back
  // stays saved. Throws as restore_from_journal does.
  KnobJournal(Sysroot& root, std::filesystem::path path, JournalUse use = JournalUse::own,
              const GuardianTerms& terms = {});

  // What the constructor found and put back.
  const RestoreReport& leftover() const { return leftover_; }
  bool owned() const { return lock_.has_value(); }  // false beside another process
  bool has(SavedRole role, std::string_view path) const;
  const std::vector<SavedEntry>& entries() const { return text_.entries; }  // oldest first
  // Adds an entry, which is on disk after the next commit. A file that is saved already keeps its
  // first text. Throws std::runtime_error where the journal would be longer than can be read, and
  // beside another process for any new entry.
  void save(SavedRole role, std::string_view path, std::string_view text);
  std::size_t size() const { return text_.entries.size(); }
  // Drops what was saved since there were so many `entries` and is not committed: not all that
  // belongs together could be saved.
  void drop_behind(std::size_t entries);
  // Takes an entry back, on disk too: what it was saved for was refused. Beside another process
  // nothing is taken back.
  void forget(SavedRole role, std::string_view path);
  // The same of a group that is gone, with the homes of its processes.
  void forget_group(std::string_view group);
  // Forgets where processes were that are in a group no more; not the first one, whose home is
  // that of those who came later.
  void forget_homes(std::string_view group, std::span<const std::int64_t> members);
  // Writes the entries to disk and returns when they are there (file and folder synced). Does
  // nothing where all are. Throws std::runtime_error, and has dropped then what is not.
  void commit();
  // Writes the file anew where somebody has removed it, with its folder or without, and locks it
  // anew where its lock was removed. True where it had to write. Throws std::runtime_error where it
  // cannot, BusyError, each time, where another process has the lock or has written a journal of
  // its own there. The owner's.
  bool write_if_gone();
  // Puts everything back that was committed; removes the journal unless something failed. Later
  // saves begin a new one. While a guardian's step goes on past its patience everything is put
  // back, and stays saved: that has failed, for the step may write behind it. The owner's.
  RestoreReport restore();

 private:
  void commit_or_remove();
  void remove(RestoreReport& report);
  void tell_guardian() const;
  void count_bytes();

  Sysroot& root_;
  const std::filesystem::path path_;
  const GuardianTerms terms_;
  std::optional<HolderLock> lock_;  // the owner's
  std::optional<HolderLock> board_lock_;
  JournalText text_;
  std::vector<SavedEntry> on_disk_;
  std::size_t most_bytes_ = 0;  // the text has no more: what is forgotten may be counted yet
  bool doubted_ = false;        // the lock was removed: the file may be another process's
  RestoreReport leftover_;
};

}  // namespace gearshift

#include "actuators/knob_journal.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "actuators/journal_file.h"
#include "actuators/journal_restore.h"
#include "controller/quoted_word.h"

namespace gearshift {
namespace {

constexpr std::string_view kBootId = "/proc/sys/kernel/random/boot_id";
// By so many the last line of a journal may grow with its number of entries.
constexpr std::size_t kCountDigits = 4;
constexpr std::string_view kStepGoesOn =
    "a guardian's step to the safe mode still goes on (process gs-guardian): a write of it to the "
    "board does not return, and may change a knob when it does";

// A tree under test may bring a boot id of its own; else that of this machine counts.
std::string boot_id(const Sysroot& root) {
  if (const auto own = root.try_read(kBootId)) return *own;
  return Sysroot("/").try_read(kBootId).value_or("unknown");
}

// The prefix as one spelling of it, so that a journal finds its tree again.
std::string prefix_of(const Sysroot& root) {
  std::string text = std::filesystem::absolute(root.prefix()).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

// The command that restores a journal of this tree; `gearshift restore` looks below / by itself.
std::string restoring(const Sysroot& root, const std::filesystem::path& journal) {
  const std::string prefix = prefix_of(root);
  return "gearshift restore --state " + quoted_word(journal.parent_path().string()) +
         (prefix == "/" ? "" : " --sysroot " + quoted_word(prefix));
}

JournalText load(const Sysroot& root, const std::filesystem::path& path) {
  JournalText text;
  try {
    text = parse_journal(read_journal_file(path));
  } catch (const JournalError& error) {
    throw JournalError("knob journal " + path.string() + " cannot be used: " + error.what() +
                       ". Nothing was written. Look at the board's knobs, then remove the file");
  }
  if (text.prefix != prefix_of(root)) {
    throw JournalError("knob journal " + path.string() + " was made under the sysroot " +
                       text.prefix + ", not " + prefix_of(root) +
                       ". Nothing was written. Restore it with --sysroot " +
                       quoted_word(text.prefix));
  }
  return text;
}

// After a reboot the board is at its defaults, and what it was set to before is nobody's wish.
void compare_stale(const Sysroot& root, const JournalText& text, RestoreReport& report) {
  report.notes.push_back("the journal is of an earlier boot (" + text.boot_id +
                         "): a reboot resets every knob, so nothing was written");
  for (const SavedEntry& entry : text.entries) {
    if (entry.role >= SavedRole::group) continue;
    const std::string now = root.try_read(entry.path).value_or("nothing");
    if (now == entry.text) continue;
    report.notes.push_back(entry.path + " reads " + now + ", and read " + entry.text +
                           " before that boot's run");
  }
}

// A tree that was unmounted looks like one of another boot.
bool is_there(const Sysroot& root, const std::vector<SavedEntry>& entries) {
  bool any_file = false;
  for (const SavedEntry& entry : entries) {
    if (entry.role >= SavedRole::group) continue;
    any_file = true;
    if (root.exists(entry.path)) return true;
  }
  return !any_file;
}

// Everything in it is back, or was never written. That the file stays all the same is told, and is
// no failure: nothing is put back from it any more.
void use_up(const std::filesystem::path& path, RestoreReport& report) {
  if (remove_journal_file(path)) return;
  report.unremoved =
      "the journal " + path.string() + " cannot be removed (" + std::strerror(errno) + "); ";
  report.unremoved +=
      mark_put_back(path)
          ? "it is marked as used up: nothing is put back from it again"
          : "remove it by hand, for the next start would put the same values back once more";
  report.notes.push_back(report.unremoved);
}

// The guardian of who left the journal may have outlived its daemon. It puts the knobs back itself
// once its step has ended.
void require_clear(const StepBar& bar, const std::filesystem::path& path) {
  if (bar.clear()) return;
  throw BusyError("knob journal " + path.string() + ": " + std::string(kStepGoesOn) +
                  ". Nothing was written; try again when that process has ended");
}

// Restores what the file says; returns what would not go. The lock is held, and so is a bar.
std::vector<SavedEntry> restore_file(Sysroot& root, const std::filesystem::path& path,
                                     const JournalText& text, RestoreReport& report) {
  std::vector<SavedEntry> failed;
  if (was_put_back(path)) {
    report.notes.push_back("what the journal " + path.string() +
                           " holds was put back already, so nothing was written");
  } else if (text.boot_id == boot_id(root)) {
    failed = put_back(root, text.entries, patience_of_last(), report);
  } else if (!is_there(root, text.entries)) {
    throw JournalError("knob journal " + path.string() + ": none of its files is below " +
                       prefix_of(root) +
                       ", so the board is not there; it is kept. Mount the board " +
                       "and restore it again, or remove the file");
  } else {
    compare_stale(root, text, report);
  }
  if (failed.empty()) use_up(path, report);
  return failed;
}

// Whether the file at `path`, if there is one, holds how knobs of this tree were found. Throws
// BusyError where this process may not look.
bool saves_knobs_of(Sysroot& root, const std::filesystem::path& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (error) {
    throw BusyError("an earlier gearshift may have left knobs of the board at " +
                    root.prefix().string() + " saved in " + path.string() +
                    ", which cannot be read (" + error.message() +
                    "); as a user who can read it: " + restoring(root, path));
  }
  if (!there) return false;
  try {
    return load(root, path).boot_id == boot_id(root);
  } catch (const std::runtime_error&) {
    return false;  // another tree's, or nobody can tell
  }
}

// The lock of the board, whose line is the journal that its knobs are saved in, while there is one.
HolderLock own_board(Sysroot& root, const std::filesystem::path& journal, LockPurpose purpose) {
  HolderLock lock = lock_board(root, purpose);
  const std::filesystem::path own = std::filesystem::absolute(journal);
  const std::filesystem::path other = lock.line_before();
  if (!other.empty() && other != own && saves_knobs_of(root, other)) {
    throw BusyError("an earlier gearshift left the knobs of the board at " +
                    root.prefix().string() + " saved in " + other.string() +
                    "; put them back first: " + restoring(root, other));
  }
  lock.write_line(own.string());
  return lock;
}

// Behind a journal that is removed. A line that stays is none that matters: there is no such file.
void clear_line(std::optional<HolderLock>& board) {
  if (!board) return;
  try {
    board->write_line("");
  } catch (const std::runtime_error&) {
  }
}

// A line may be left without its journal, by a process that was killed between the two.
void forget_board(const Sysroot& root, const std::filesystem::path& journal) {
  try {
    HolderLock lock = lock_board(root, LockPurpose::restoring);
    if (lock.line_before() == std::filesystem::absolute(journal)) lock.write_line("");
  } catch (const std::runtime_error&) {  // somebody has the board, and the line is theirs
  }
}

}  // namespace

RestoreReport restore_from_journal(Sysroot& root, const std::filesystem::path& journal,
                                   std::chrono::milliseconds step_patience) {
  RestoreReport report;
  if (!std::filesystem::exists(journal)) {
    report.notes.push_back("no journal at " + journal.string() + ": there is nothing to restore");
    forget_board(root, journal);
    return report;
  }
  const HolderLock lock = lock_journal(journal, LockPurpose::restoring);
  if (!std::filesystem::exists(journal)) {
    report.notes.push_back("another process has put back what " + journal.string() + " held");
    return report;
  }
  const JournalText text = load(root, journal);
  const bool of_board =
      std::any_of(text.entries.begin(), text.entries.end(),
                  [](const SavedEntry& one) { return one.role < SavedRole::group; });
  std::optional<HolderLock> board;
  try {
    if (of_board) board.emplace(own_board(root, journal, LockPurpose::restoring));
  } catch (const BusyError&) {
    throw;
  } catch (const std::runtime_error& error) {
    // A full disk, say: that nobody else is kept away is no reason to leave the knobs as they are.
    report.notes.push_back("the board is not locked meanwhile: " + std::string(error.what()));
  }
  const StepBar bar(journal, step_patience);
  require_clear(bar, journal);
  if (restore_file(root, journal, text, report).empty()) clear_line(board);
  return report;
}

KnobJournal::KnobJournal(Sysroot& root, std::filesystem::path path, JournalUse use,
                         const GuardianTerms& terms)
    : root_(root), path_(std::move(path)), terms_(terms) {
  if (use == JournalUse::beside) {
    text_ = load(root_, path_);
    on_disk_ = text_.entries;
    return;
  }
  lock_.emplace(lock_journal(path_, LockPurpose::writing));
  if (use == JournalUse::own_board) {
    board_lock_.emplace(own_board(root_, path_, LockPurpose::writing));
  }
  // Its file is made while the folder can be written, which may end.
  const StepBar bar(path_, terms_.step_patience);
  require_clear(bar, path_);
  text_.boot_id = boot_id(root);
  text_.prefix = prefix_of(root);
  if (std::filesystem::exists(path_)) {
    text_.entries = restore_file(root_, path_, load(root_, path_), leftover_);
    on_disk_ = text_.entries;
  }
  count_bytes();
  if (text_.entries.empty()) clear_line(board_lock_);
  tell_guardian();
}

bool KnobJournal::has(SavedRole role, std::string_view path) const {
  return std::any_of(text_.entries.begin(), text_.entries.end(), [&](const SavedEntry& entry) {
    return entry.role == role && entry.path == path;
  });
}

void KnobJournal::save(SavedRole role, std::string_view path, std::string_view text) {
  SavedEntry entry{role, std::string(path), std::string(text)};
  // A group has a home for each of its processes; a file has one text.
  const bool many = role == SavedRole::group_home || role == SavedRole::controllers;
  const bool known =
      many ? std::find(text_.entries.begin(), text_.entries.end(), entry) != text_.entries.end()
           : has(role, path);
  if (known) return;
  if (!lock_) {
    throw std::runtime_error("knob journal " + path_.string() +
                             ": another process has it, so nothing new is saved or written");
  }
  most_bytes_ += line_bytes(entry);
  text_.entries.push_back(std::move(entry));
  if (most_bytes_ > kMaxJournalBytes) count_bytes();
  // One that is too long to be read again would put nothing back.
  if (text_.entries.size() > kMaxJournalEntries || most_bytes_ > kMaxJournalBytes) {
    text_.entries.pop_back();
    throw std::runtime_error("knob journal " + path_.string() + " is full (" +
                             std::to_string(text_.entries.size()) +
                             " entries): nothing more is saved or written");
  }
}

void KnobJournal::count_bytes() { most_bytes_ = format_journal(text_).size() + kCountDigits; }

void KnobJournal::drop_behind(std::size_t entries) {
  if (entries < text_.entries.size()) text_.entries.resize(entries);
}

void KnobJournal::forget_homes(std::string_view group, std::span<const std::int64_t> members) {
  const auto first = std::find_if(text_.entries.begin(), text_.entries.end(), [&](const auto& one) {
    return one.role == SavedRole::group_home && one.path == group;
  });
  if (first == text_.entries.end()) return;
  const auto gone = [&](const SavedEntry& entry) {
    if (entry.role != SavedRole::group_home || entry.path != group) return false;
    std::int64_t pid = 0;
    std::from_chars(entry.text.data(), entry.text.data() + entry.text.size(), pid);
    return std::find(members.begin(), members.end(), pid) == members.end();
  };
  const auto end = std::remove_if(first + 1, text_.entries.end(), gone);
  text_.entries.erase(end, text_.entries.end());
}

void KnobJournal::forget(SavedRole role, std::string_view path) {
  if (!lock_) return;  // the owner may have written it
  std::erase_if(text_.entries,
                [&](const SavedEntry& entry) { return entry.role == role && entry.path == path; });
  commit_or_remove();
}

void KnobJournal::forget_group(std::string_view group) {
  if (!lock_) return;
  const std::size_t gone = std::erase_if(text_.entries, [&](const SavedEntry& entry) {
    const bool of_group = entry.role == SavedRole::group || entry.role == SavedRole::group_home;
    return of_group && entry.path == group;
  });
  if (gone > 0) commit_or_remove();
}

void KnobJournal::commit_or_remove() {
  if (!text_.entries.empty()) {
    commit();
    return;
  }
  RestoreReport report;
  remove(report);
}

void KnobJournal::commit() {
  assert(lock_ || text_.entries == on_disk_);
  if (text_.entries == on_disk_) return;
  try {
    if (board_lock_) board_lock_->write_line(std::filesystem::absolute(path_).string());
    replace_journal_file(path_, format_journal(text_));
  } catch (const std::runtime_error&) {
    // What is not on disk is not written, and so is nothing to put back: others may set it.
    text_.entries = on_disk_;
    count_bytes();
    if (on_disk_.empty()) remove_journal_file(path_);
    throw;
  }
  on_disk_ = text_.entries;
  tell_guardian();
}

bool KnobJournal::write_if_gone() {
  if (!lock_ || on_disk_.empty()) return false;
  // The lock of a file that nobody can open any more keeps nobody away, so that what is there may
  // be another process's since.
  if (lock_->removed()) {
    doubted_ = true;
    HolderLock fresh = lock_journal(path_, LockPurpose::writing);
    lock_.emplace(std::move(fresh));
  }
  JournalText saved = text_;
  saved.entries = on_disk_;
  const std::string text = format_journal(saved);
  std::error_code error;
  const bool there = std::filesystem::exists(path_, error) || error;
  if (there && doubted_ && read_journal_file(path_) != text) {
    throw BusyError("another gearshift has written it anew");
  }
  if (!there) replace_journal_file(path_, text);
  doubted_ = false;
  return !there;
}

void KnobJournal::tell_guardian() const {
  if (terms_.saved != nullptr) terms_.saved->store(!on_disk_.empty());
}

void KnobJournal::remove(RestoreReport& report) {
  on_disk_.clear();
  tell_guardian();  // first: a file that it misses then was not to be there
  use_up(path_, report);
  clear_line(board_lock_);
}

RestoreReport KnobJournal::restore() {
  RestoreReport report;
  assert(lock_);
  text_.entries = on_disk_;  // nothing else was written
  count_bytes();
  if (text_.entries.empty()) return report;
  // Until the journal is gone: a step takes that for its sign.
  const StepBar bar(path_, terms_.step_patience);
  const bool clear = bar.clear();
  text_.entries = put_back(root_, text_.entries, patience_of_owner(), report);
  if (!clear) {
    text_.entries = on_disk_;
    report.failed.push_back(std::string(kStepGoesOn) + "; the journal " + path_.string() +
                            " is kept for what comes behind it");
    return report;
  }
  on_disk_ = text_.entries;
  if (text_.entries.empty()) {
    remove(report);
    return report;
  }
  try {
    replace_journal_file(path_, format_journal(text_));
  } catch (const std::runtime_error& error) {
    // The old one stays, which has more than is left.
    report.notes.emplace_back(error.what());
  }
  return report;
}

}  // namespace gearshift

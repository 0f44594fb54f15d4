// Locks that make one process the only one to write a board's knobs: a file with the holder's pid
// inside, which the kernel frees when the process dies in any way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "boards/sysroot.h"

namespace gearshift {

// Another process sets the knobs: what() names its pid, and what it holds.
struct BusyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a lock is held for: life, or the moments that putting the knobs back takes.
enum class LockPurpose : std::uint8_t { writing, restoring };

// Whether a lock whose file says `holder` will be free in a moment: it is held to restore, by a
// daemon that is dying, or by somebody who has not yet written over the pid of one that is dead.
bool lock_passes(const std::string& holder);

// The folder of the locks of boards, which is made where needed and this user's alone: others who
// could write it could hold the locks. Throws std::runtime_error.
std::filesystem::path board_locks();

// Held for life. Its owner alone may open the file, which stays when the lock goes: who can read a
// file can lock it.
class HolderLock {
 public:
  // Makes and locks the file at `path`, in a folder that is there. Waits up to 10 s for a holder
  // that restores, which tries what is busy for 5 s. Throws BusyError that says what another one
  // `holds`, or std::runtime_error where the file cannot be made.
  HolderLock(const std::filesystem::path& path, LockPurpose purpose, const std::string& holds);
  ~HolderLock();
  HolderLock(HolderLock&& other) noexcept;
  HolderLock& operator=(HolderLock&&) = delete;

  // Whether somebody has removed the file: another process could make and lock a new one.
  bool removed() const;
  // The line behind the holder's, as the last one left it; empty where there was none.
  const std::string& line_before() const { return line_before_; }
  // Replaces it. Throws std::runtime_error, but where the lock is held to restore: on a file system
  // that is read-only or full the pid of the one before, who is gone, stays.
  void write_line(std::string_view line);

 private:
  std::filesystem::path path_;
  std::string holder_;
  const LockPurpose purpose_;
  std::string line_before_;
  bool read_only_ = false;
  int descriptor_ = -1;
};

// `<journal>.lock`, beside the journal, whose folder is made where needed.
HolderLock lock_journal(const std::filesystem::path& journal, LockPurpose purpose);

// Locks the board itself, whichever state folder its journal is in. Where such locks are is this
// user's: /run/gearshift-boards for root, else below XDG_RUNTIME_DIR, or without that in /tmp, or
// in ~/.local/state/gearshift where another user has taken the name in /tmp.
HolderLock lock_board(const Sysroot& root, LockPurpose purpose);

}  // namespace gearshift

#include "actuators/holder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "actuators/closed_folder.h"

namespace gearshift {
namespace {

constexpr std::string_view kRestoring = " restoring";
constexpr char kEnd = '\0';  // of a line, which is a path: it has any byte but this
constexpr auto kRestorePause = std::chrono::milliseconds(20);
constexpr int kRestoreTries = 500;

[[noreturn]] void fail_lock(const std::string& what, const std::filesystem::path& path) {
  throw std::runtime_error("cannot " + what + ' ' + path.string() + ": " + std::strerror(errno));
}

// What is told to people: a lock may be another user's file, with bytes that a terminal obeys.
std::string holder_in(std::string_view line) {
  const std::size_t end = std::min(line.find_first_not_of("0123456789"), line.size());
  const std::string_view behind = line.substr(end);
  const bool is_holder = end > 0 && (behind.empty() || behind == kRestoring);
  return is_holder ? std::string(line) : "unknown";
}

// The holder, which is a pid and whether it only restores, and the line behind it.
std::pair<std::string, std::string> lines_of(int descriptor) {
  std::array<char, 64 + PATH_MAX> bytes{};
  const ssize_t size = pread(descriptor, bytes.data(), bytes.size(), 0);
  const std::string_view text(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view rest = text.substr(std::min(end + 1, text.size()));
  return {holder_in(text.substr(0, end)), std::string(rest.substr(0, rest.find(kEnd)))};
}

// A killed process whose first thread is gone is a zombie, while another thread of it may be about
// to close its files, and the lock with them.
bool has_ended(pid_t pid) {
  if (kill(pid, 0) != 0) return errno == ESRCH;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "Z") == 0;
}

std::filesystem::path made_own(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail_lock("make the folder", folder);
  struct stat found {};
  if (lstat(folder.c_str(), &found) != 0) fail_lock("look at", folder);
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 0022) != 0) {
    throw std::runtime_error(
        folder.string() + " is not a folder that this user alone may write; " +
        (geteuid() == 0 ? "remove it" : "set XDG_RUNTIME_DIR to a folder of this user's own"));
  }
  return folder;
}

// The folder that a variable of the environment names; empty where it names none.
std::filesystem::path folder_in(const char* variable) {
  const char* const folder = std::getenv(variable);
  return folder != nullptr && *folder == '/' ? folder : "";
}

}  // namespace

std::filesystem::path board_locks() {
  if (geteuid() == 0) return made_own("/run/gearshift-boards");
  const std::filesystem::path runtime = folder_in("XDG_RUNTIME_DIR");
  if (!runtime.empty()) return made_own(runtime / "gearshift-boards");
  const std::filesystem::path shared = "/tmp/gearshift-boards-" + std::to_string(geteuid());
  const std::filesystem::path home = folder_in("HOME");
  const std::filesystem::path state = home / ".local/state/gearshift";
  std::error_code ignored;
  // Once it is there it is taken for good: two daemons look at one place, whatever others do in
  // /tmp.
  if (!home.empty() && std::filesystem::exists(state / "boards", ignored)) {
    return made_own(state / "boards");
  }
  try {
    return made_own(shared);
  } catch (const std::runtime_error&) {  // another user was there first, who cannot be made to go
    if (home.empty()) throw;
  }
  make_closed_folder(state);
  return made_own(state / "boards");
}

bool lock_passes(const std::string& holder) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(holder.data(), holder.data() + holder.size(), pid);
  const bool ended = error == std::errc() && pid > 0 && has_ended(pid);
  return ended || holder.ends_with(kRestoring);
}

HolderLock::HolderLock(const std::filesystem::path& path, LockPurpose purpose,
                       const std::string& holds)
    : path_(path), holder_(std::to_string(getpid())), purpose_(purpose) {
  if (purpose == LockPurpose::restoring) holder_ += kRestoring;
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor_ < 0 && errno == EROFS && purpose == LockPurpose::restoring) {
    // The file system has turned read-only since: the knobs can go back all the same.
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    read_only_ = true;
  }
  if (descriptor_ < 0) fail_lock("open", path);
  fchmod(descriptor_, 0600);
  for (int tries = 0; flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++tries) {
    const int error = errno;
    const std::string holder = lines_of(descriptor_).first;
    if (error == EWOULDBLOCK && lock_passes(holder) && tries < kRestoreTries) {
      std::this_thread::sleep_for(kRestorePause);
      continue;
    }
    close(descriptor_);
    if (error != EWOULDBLOCK) {
      errno = error;
      fail_lock("lock", path);
    }
    throw BusyError("another gearshift (pid " + holder + ") " + holds +
                    "; stop it first: only one may set a board's knobs");
  }
  line_before_ = lines_of(descriptor_).second;
  try {
    write_line(line_before_);
  } catch (const std::runtime_error&) {
    close(descriptor_);
    throw;
  }
}

HolderLock::HolderLock(HolderLock&& other) noexcept
    : path_(std::move(other.path_)),
      holder_(std::move(other.holder_)),
      purpose_(other.purpose_),
      line_before_(std::move(other.line_before_)),
      read_only_(other.read_only_),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

HolderLock::~HolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool HolderLock::removed() const {
  struct stat info {};
  return fstat(descriptor_, &info) == 0 && info.st_nlink == 0;
}

void HolderLock::write_line(std::string_view line) {
  if (read_only_) return;
  const std::string text = holder_ + '\n' + std::string(line) + kEnd;
  // In place: on a full disk the block of an emptied file is soon another's. Until the file is cut
  // what was there stays behind the end, where nobody reads.
  const bool written =
      pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
      ftruncate(descriptor_, static_cast<off_t>(text.size())) == 0;
  // What puts knobs back has the lock, and waits for no room on a disk.
  if (!written && purpose_ != LockPurpose::restoring) fail_lock("write", path_);
}

HolderLock lock_journal(const std::filesystem::path& journal, LockPurpose purpose) {
  make_closed_folder(journal.parent_path());  // opening the lock tells what is wrong with it
  try {
    return {journal.string() + ".lock", purpose, "holds the knob journal " + journal.string()};
  } catch (const BusyError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("knob journal: ") + error.what() +
                             "; give a state folder that this user may write with --state");
  }
}

HolderLock lock_board(const Sysroot& root, LockPurpose purpose) {
  struct stat board {};
  if (stat(root.prefix().c_str(), &board) != 0) fail_lock("look at", root.prefix());
  const std::string name =
      "board-" + std::to_string(board.st_dev) + '-' + std::to_string(board.st_ino) + ".lock";
  return {
      board_locks() / name, purpose,
      "sets the knobs of the board at " + root.prefix().string() + ", with another state folder"};
}

}  // namespace gearshift

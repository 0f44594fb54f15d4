#include "actuators/journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include "actuators/holder_lock.h"
#include "actuators/journal_text.h"
#include "boards/file_descriptor.h"

namespace gearshift {
namespace {

[[noreturn]] void fail_journal(const std::string& what, const std::filesystem::path& path) {
  throw std::runtime_error("knob journal: cannot " + what + ' ' + path.string() + ": " +
                           std::strerror(errno) +
                           "; give a state folder that this user may write with --state");
}

void write_all(int descriptor, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t put = write(descriptor, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_journal("write", path);
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor descriptor{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.value < 0 || fsync(descriptor.value) != 0) fail_journal("sync", folder);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// A journal says which files are written, as root mostly: one that another user wrote, or may
// write, could name any.
void require_own(int descriptor) {
  struct stat info {};
  const bool known = fstat(descriptor, &info) == 0;
  if (!known || !S_ISREG(info.st_mode)) throw JournalError("it is no file");
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    throw JournalError("it belongs to user " + std::to_string(info.st_uid) + ", not to this one (" +
                       std::to_string(geteuid()) + ") or root: let that user restore it");
  }
  if ((info.st_mode & 0022) != 0) throw JournalError("other users may write it");
}

// Names one content of one file, and is none of another's: of this boot, so that no clock that
// starts anew can make it so.
std::optional<std::filesystem::path> mark_of(const std::filesystem::path& journal) {
  struct stat info {};
  if (lstat(journal.c_str(), &info) != 0) return std::nullopt;
  try {
    return board_locks() /
           ("put-back-" + std::to_string(info.st_dev) + '-' + std::to_string(info.st_ino) + '-' +
            std::to_string(info.st_mtim.tv_sec) + '.' + std::to_string(info.st_mtim.tv_nsec));
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

}  // namespace

void replace_journal_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path fresh = path.string() + ".new";
  const auto mark = mark_of(path);
  unlink(fresh.c_str());
  {
    const FileDescriptor descriptor{
        open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
    if (descriptor.value < 0) fail_journal("make", fresh);
    try {
      require_own(descriptor.value);
    } catch (const JournalError& error) {
      throw std::runtime_error("knob journal: " + fresh.string() +
                               " cannot be kept to this user (" + error.what() +
                               "), so that nothing could be put back from it; give a state folder "
                               "on a file system with owners and modes with --state");
    }
    try {
      write_all(descriptor.value, text, fresh);
      if (fsync(descriptor.value) != 0) fail_journal("sync", fresh);
    } catch (const std::runtime_error&) {
      unlink(fresh.c_str());  // half of one takes up what is left of a full disk
      throw;
    }
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) fail_journal("rename", fresh);
  if (mark) unlink(mark->c_str());
  sync_folder(folder_of(path));
}

std::string read_journal_file(const std::filesystem::path& path) {
  const FileDescriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)};
  if (file.value < 0 && errno == ELOOP) throw JournalError("it is a symbolic link");
  if (file.value < 0) fail_journal("read", path);
  require_own(file.value);
  std::string text(kMaxJournalBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.value, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_journal("read", path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

bool remove_journal_file(const std::filesystem::path& path) {
  const auto mark = mark_of(path);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return false;
  const int gone = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const FileDescriptor folder{gone};
  // One that is there again after a crash is of an earlier boot then.
  if (gone >= 0) fsync(gone);
  if (mark) unlink(mark->c_str());
  return true;
}

bool mark_put_back(const std::filesystem::path& path) {
  try {
    const auto mark = mark_of(path);
    if (!mark) return false;
    const std::string text = read_journal_file(path);
    unlink(mark->c_str());
    const FileDescriptor file{
        open(mark->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (file.value < 0) return false;
    write_all(file.value, text, *mark);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool was_put_back(const std::filesystem::path& path) {
  const auto mark = mark_of(path);
  if (!mark || access(mark->c_str(), F_OK) != 0) return false;
  try {
    return read_journal_file(*mark) == read_journal_file(path);
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace gearshift

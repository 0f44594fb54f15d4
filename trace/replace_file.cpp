#include "trace/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ext/stdio_filebuf.h>
#include <optional>
#include <stdexcept>
#include <string>

#include "trace/calling_user.h"

namespace gearshift {
namespace {

// Closes a descriptor at the end of its scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

// A file system that cannot sync a folder says EINVAL; it keeps its names in its own way.
bool sync_folder_of(const std::filesystem::path& path) {
  const Descriptor descriptor{open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  return descriptor.value >= 0 && (fsync(descriptor.value) == 0 || errno == EINVAL);
}

std::runtime_error failure(const std::filesystem::path& path, int error) {
  return std::runtime_error(path.string() + ": cannot be written: " + std::strerror(error) +
                            "; name a file in a folder that is there, writable and not full");
}

// What is at the path, or is led to by it; nullopt where nothing is. It is asked as whoever opens
// it would be: a link that the kernel does not let this user follow is not followed either.
std::optional<struct stat> looked_at(const std::filesystem::path& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) == 0) return found;
  if (errno != ENOENT) throw failure(path, errno);
  return std::nullopt;
}

// What a file that is renamed to `file` takes the place of. Not what a link there leads to, which
// somebody has put there since the links were followed.
std::optional<struct stat> replaced_at(const std::filesystem::path& file,
                                       const std::filesystem::path& wanted) {
  struct stat found {};
  if (lstat(file.c_str(), &found) != 0) {
    if (errno != ENOENT) throw failure(wanted, errno);
    return std::nullopt;
  }
  if (!S_ISREG(found.st_mode)) throw failure(wanted, S_ISLNK(found.st_mode) ? ELOOP : EEXIST);
  return found;
}

struct Link {
  std::filesystem::path target;
  uid_t owner;
};

// The link at the path, if it is one. Whose it is and where it leads are asked of one and the same:
// by then the name may be that of another.
std::optional<Link> link_at(const std::filesystem::path& path) {
  const Descriptor link{open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  struct stat found {};
  if (link.value < 0 || fstat(link.value, &found) != 0 || !S_ISLNK(found.st_mode)) {
    return std::nullopt;
  }
  std::array<char, PATH_MAX> text;
  const ssize_t size = readlinkat(link.value, "", text.data(), text.size());
  if (size <= 0) return std::nullopt;
  return Link{std::string(text.data(), static_cast<std::size_t>(size)), found.st_uid};
}

// Each link on the way is given to `judge`, with its path.
std::filesystem::path follow_links(
    const std::filesystem::path& path,
    const std::function<void(const std::filesystem::path&, const Link&)>& judge) {
  constexpr int kMostLinks = 40;  // as the kernel has it
  std::filesystem::path file = path;
  for (int i = 0; i < kMostLinks; ++i) {
    const std::optional<Link> link = link_at(file);
    if (!link) break;
    judge(file, *link);
    file = folder_of(file) / link->target;
  }
  return file;
}

// A file of another name, made here and nobody else's, that becomes `file` once it is whole.
class FreshFile {
 public:
  // `replaced` is what is there, whose owner and mode are kept. `wanted` is named in errors.
  FreshFile(const std::filesystem::path& file, const std::optional<struct stat>& replaced,
            const std::filesystem::path& wanted)
      : file_(file), replaced_(replaced), wanted_(wanted) {
    constexpr int kMostNames = 1000;  // a killed write leaves one behind
    const mode_t mode = replaced ? 0600 : 0666;
    for (int i = 0; i < kMostNames && descriptor_.value < 0; ++i) {
      path_ = file;
      path_ += ".new" + (i == 0 ? std::string() : std::to_string(i));
      descriptor_.value = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (descriptor_.value < 0 && errno != EEXIST) break;
    }
    if (descriptor_.value < 0) throw failure(wanted_, errno);
  }
  ~FreshFile() {
    if (!path_.empty()) unlink(path_.c_str());  // a full disk has the room back
  }
  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;

  int descriptor() const { return descriptor_.value; }

  void become_the_file() {
    if (!take_mode() || fsync(descriptor_.value) != 0 ||
        rename(path_.c_str(), file_.c_str()) != 0) {
      throw failure(wanted_, errno);
    }
    path_.clear();
    if (!sync_folder_of(file_)) throw failure(wanted_, errno);
  }

 private:
  // Who may not give the owner back keeps the file; what others may do with it stays as it was.
  bool take_mode() const {
    if (!replaced_) return true;
    [[maybe_unused]] const int given =
        fchown(descriptor_.value, replaced_->st_uid, replaced_->st_gid);
    return fchmod(descriptor_.value, replaced_->st_mode & 0777) == 0;
  }

  const std::filesystem::path file_;
  const std::optional<struct stat> replaced_;
  const std::filesystem::path wanted_;
  Descriptor descriptor_{-1};
  std::filesystem::path path_;
};

// Into the file that was opened, whatever has its name by now.
void write_into(int descriptor, const std::filesystem::path& wanted,
                const std::function<void(std::ostream&)>& write) {
  errno = 0;
  __gnu_cxx::stdio_filebuf<char> buffer(dup(descriptor), std::ios::out | std::ios::binary);
  std::ostream out(&buffer);
  write(out);
  if (buffer.close() == nullptr || !out) throw failure(wanted, errno);
}

void write_in_place(const std::filesystem::path& path,
                    const std::function<void(std::ostream&)>& write) {
  const Descriptor there{open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY)};
  struct stat found {};
  if (there.value < 0 || fstat(there.value, &found) != 0) throw failure(path, errno);
  if (S_ISREG(found.st_mode)) throw failure(path, EEXIST);  // which was put there since
  write_into(there.value, path, write);
}

}  // namespace

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

std::filesystem::path behind_links(const std::filesystem::path& path) {
  return follow_links(path, [](const std::filesystem::path&, const Link&) {});
}

std::filesystem::path behind_own_links(const std::filesystem::path& path) {
  return follow_links(path, [&path](const std::filesystem::path& file, const Link& link) {
    if (link.owner == 0 || link.owner == geteuid() || link.owner == calling_user().user) return;
    throw std::runtime_error(path.string() + ": cannot be written: the link " + file.string() +
                             " belongs to user " + std::to_string(link.owner) +
                             ", who may let it lead anywhere; name the file itself");
  });
}

void replace_file(const std::filesystem::path& path,
                  const std::function<void(std::ostream&)>& write) {
  const std::optional<struct stat> there = looked_at(path);
  // A renamed file would take the place of /dev/stdout itself.
  if (there && !S_ISREG(there->st_mode)) return write_in_place(path, write);
  const std::filesystem::path file = behind_own_links(path);
  FreshFile fresh(file, replaced_at(file, path), path);
  write_into(fresh.descriptor(), path, write);
  fresh.become_the_file();
}

void check_replaceable(const std::filesystem::path& path) {
  const std::optional<struct stat> there = looked_at(path);
  if (there && S_ISDIR(there->st_mode)) throw failure(path, EISDIR);
  const bool in_place = there && !S_ISREG(there->st_mode);
  const std::filesystem::path needed = in_place ? path : folder_of(behind_own_links(path));
  if (access(needed.c_str(), W_OK) != 0) throw failure(path, errno);
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  replace_file(path, [&](std::ostream& out) {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  });
}

}  // namespace gearshift

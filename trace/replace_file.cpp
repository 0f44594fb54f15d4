#include "trace/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

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

  const std::filesystem::path& path() const { return path_; }

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

void write_into(const std::filesystem::path& file, const std::filesystem::path& wanted,
                const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (out) write(out);
  out.close();
  if (!out) throw failure(wanted, errno);
}

}  // namespace

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

std::filesystem::path behind_links(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // as the kernel has it
  std::filesystem::path file = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(file, error); ++i) {
    file = folder_of(file) / std::filesystem::read_symlink(file, error);
    if (error) return path;
  }
  return file;
}

void replace_file(const std::filesystem::path& path,
                  const std::function<void(std::ostream&)>& write) {
  const std::optional<struct stat> replaced = looked_at(path);
  // A renamed file would take the place of /dev/stdout itself.
  if (replaced && !S_ISREG(replaced->st_mode)) return write_into(path, path, write);
  FreshFile fresh(behind_links(path), replaced, path);
  write_into(fresh.path(), path, write);
  fresh.become_the_file();
}

void check_replaceable(const std::filesystem::path& path) {
  const std::optional<struct stat> replaced = looked_at(path);
  if (replaced && S_ISDIR(replaced->st_mode)) throw failure(path, EISDIR);
  const bool in_place = replaced && !S_ISREG(replaced->st_mode);
  const std::filesystem::path needed = in_place ? path : folder_of(behind_links(path));
  if (access(needed.c_str(), W_OK) != 0) throw failure(path, errno);
}

void replace_file(const std::filesystem::path& path, std::string_view text) {
  replace_file(path, [&](std::ostream& out) {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  });
}

}  // namespace gearshift

#include "boards/sysroot.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <system_error>
#include <utility>

#include "boards/file_descriptor.h"

namespace gearshift {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel does before it answers ELOOP

// What a person can do about an errno on a device file; empty where there is nothing to say.
std::string_view way_out(int code) {
  switch (code) {
    case EACCES:
    case EPERM:
      return "; run as root, or give this user access to the file";
    case ENOENT:
      return "; this kernel or board does not offer it";
    case EROFS:
      return "; the file system is mounted read-only, as in many containers";
    case EBUSY:
      return "; something else holds it, try again later";
    case EAGAIN:
      return "; the block behind it is powered down, try again later";
    case ENODATA:
      return "; the channel is disabled";
    case ELOOP:
      return "; its symbolic links go round in a circle";
    default:
      return "";
  }
}

std::string describe_error(int code) {
  std::string text = std::generic_category().message(code);
  if (const char* name = strerrorname_np(code)) text += std::string(" (") + name + ")";
  text += way_out(code);
  return text;
}

[[noreturn]] void throw_file_error(std::string_view verb, const std::string& path, int code) {
  throw FileError("cannot " + std::string(verb) + " " + path + ": " + describe_error(code), code);
}

// The start of a text that may hold any bytes, for people.
std::string quoted(std::string_view text) {
  constexpr std::size_t kMostShown = 64;
  std::string shown(text.substr(0, kMostShown));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (text.size() > kMostShown) shown += "...";
  return '\'' + shown + '\'';
}

[[noreturn]] void throw_write_error(std::string_view text, const std::string& path, int code) {
  std::string what = "cannot write " + quoted(text) + " to " + path + ": " + describe_error(code);
  if (code == EINVAL) what += "; the value is not one the kernel accepts here";
  throw FileError(what, code);
}

// A device-tree text ends in NUL, a sysfs text in a newline.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank(" \t\r\n\0", 5);
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// One read at offset 0: the kernel evaluates the value anew and gives all of a short text at once.
// The size that stat(2) tells is no help: it is 0 for debugfs and /proc, 4096 for all of sysfs.
ssize_t read_start(int descriptor, char* buffer, std::size_t size) {
  ssize_t got = -1;
  do {
    got = pread(descriptor, buffer, size, 0);
  } while (got < 0 && errno == EINTR);
  return got;
}

// True on file systems of disk and memory, where a shorter text leaves the end of a longer one.
bool is_plain(int descriptor) {
  struct statfs info {};
  if (fstatfs(descriptor, &info) != 0) return false;
  constexpr long kFuse = 0x65735546;
  constexpr long kControl[] = {SYSFS_MAGIC,        DEBUGFS_MAGIC,       PROC_SUPER_MAGIC,
                               CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, kFuse};
  return std::find(std::begin(kControl), std::end(kControl), static_cast<long>(info.f_type)) ==
         std::end(kControl);
}

int write_once(int descriptor, std::string_view text, bool plain) {
  if (plain && ftruncate(descriptor, 0) != 0) return errno;
  ssize_t put = -1;
  do {
    put = pwrite(descriptor, text.data(), text.size(), 0);
  } while (put < 0 && errno == EINTR);
  if (put < 0) return errno;
  return static_cast<std::size_t>(put) == text.size() ? 0 : EIO;
}

// Opens with the folder `prefix` as the root of every link and "..": one call, where our own walk
// makes one a component (each of them many round trips on a virtual board). -1 with errno.
int open_in_root(const std::string& prefix, const std::string& path, int flags) {
  const FileDescriptor root{::open(prefix.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (root.value < 0) return -1;
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, root.value, path.c_str(), &how, sizeof how));
}

// Kernels before 5.6 lack the call, sandboxes refuse it, and it gives up on a race with a rename.
bool walk_instead(int code) { return code == ENOSYS || code == EPERM || code == EAGAIN; }

}  // namespace

FileError::FileError(const std::string& what, int code) : std::runtime_error(what), code_(code) {}

// DeviceFile.

DeviceFile::DeviceFile(Sysroot* root, std::string path, int descriptor)
    : root_(root),
      path_(std::move(path)),
      descriptor_(descriptor),
      plain_(is_plain(descriptor)),
      buffer_(std::make_unique<std::array<char, kBufferBytes>>()) {}

DeviceFile::DeviceFile(DeviceFile&& other) noexcept
    : root_(other.root_),
      path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      plain_(other.plain_),
      last_error_(other.last_error_),
      buffer_(std::move(other.buffer_)) {}

DeviceFile& DeviceFile::operator=(DeviceFile&& other) noexcept {
  std::swap(root_, other.root_);
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(plain_, other.plain_);
  std::swap(last_error_, other.last_error_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

DeviceFile::~DeviceFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<std::string_view> DeviceFile::read_text() noexcept {
  if (!buffer_) {  // moved from
    last_error_ = EBADF;
    return std::nullopt;
  }
  const ssize_t size = read_start(descriptor_, buffer_->data(), kBufferBytes - 1);
  if (size < 0) {
    last_error_ = errno;
    return std::nullopt;
  }
  last_error_ = 0;
  return trimmed({buffer_->data(), static_cast<std::size_t>(size)});
}

std::optional<std::int64_t> DeviceFile::take_integer(std::string_view& text) noexcept {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc()) {
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  }
  last_error_ = error == std::errc::result_out_of_range ? ERANGE : text.empty() ? ENODATA : EINVAL;
  return std::nullopt;
}

std::optional<std::int64_t> DeviceFile::try_read_integer() noexcept {
  std::optional<std::string_view> text = read_text();
  return text ? take_integer(*text) : std::nullopt;
}

std::optional<std::int64_t> DeviceFile::try_read_whole_integer() noexcept {
  std::optional<std::string_view> text = read_text();
  const std::optional<std::int64_t> value = text ? take_integer(*text) : std::nullopt;
  if (!value || text->empty()) return value;
  last_error_ = EINVAL;
  return std::nullopt;
}

std::string_view DeviceFile::read() {
  const std::optional<std::string_view> text = read_text();
  if (!text) throw_last_error("read");
  return *text;
}

std::int64_t DeviceFile::read_integer() {
  const std::optional<std::string_view> text = read_text();
  std::string_view rest = text.value_or("");
  const std::optional<std::int64_t> value = text ? take_integer(rest) : std::nullopt;
  if (value) return *value;
  if (rest.empty()) throw_last_error("read an integer from");
  throw FileError("cannot read an integer from " + path_ + ": it reads " + quoted(rest) +
                      (last_error_ == ERANGE ? ", which is out of range" : ""),
                  last_error_);
}

void DeviceFile::throw_last_error(std::string_view verb) const {
  throw_file_error(verb, path_, last_error_);
}

void DeviceFile::write(std::string_view text) {
  root_->count_write();
  last_error_ = write_once(descriptor_, text, plain_);
  if (last_error_ != 0) throw_write_error(text, path_, last_error_);
}

// Sysroot.

Sysroot::Sysroot(std::filesystem::path prefix) : prefix_(std::move(prefix)) {
  prefix_text_ = prefix_.string();
  while (!prefix_text_.empty() && prefix_text_.back() == '/') prefix_text_.pop_back();
}

std::string Sysroot::shown(std::string_view path) const { return prefix_text_ + std::string(path); }

// Walks the path one component at a time, because an ordinary open(2) would follow an absolute link
// out of the prefix. `pending` holds what is still to be walked.
std::optional<std::string> Sysroot::follow_links(std::string_view path) const {
  std::string done;  // "" is the top of the prefix
  std::string pending(path);
  int links = 0;
  std::size_t at = 0;
  while (at < pending.size()) {
    const std::size_t slash = std::min(pending.find('/', at), pending.size());
    const std::string component = pending.substr(at, slash - at);
    at = std::min(slash + 1, pending.size());
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      done.resize(done.empty() ? 0 : done.rfind('/'));
      continue;
    }
    const std::string candidate = done + '/' + component;
    char target[PATH_MAX];
    const ssize_t length = readlink((prefix_text_ + candidate).c_str(), target, sizeof target);
    if (length < 0) {  // not a link, or not there at all
      done = candidate;
      continue;
    }
    if (++links > kMaxLinks) return std::nullopt;
    const std::string_view link(target, static_cast<std::size_t>(length));
    if (link.starts_with('/')) done.clear();
    pending = std::string(link) + '/' + pending.substr(at);
    at = 0;
  }
  return done.empty() ? "/" : done;
}

std::string Sysroot::resolve(std::string_view path) const {
  return follow_links(path).value_or(std::string(path));
}

bool Sysroot::exists(std::string_view path) const {
  return FileDescriptor{open_descriptor(path, O_PATH)}.value >= 0;
}

// By our own walk: older kernels check the access to a path, but not to a descriptor.
bool Sysroot::writable(std::string_view path) const {
  const std::optional<std::string> real =
      prefix_text_.empty() ? std::string(path) : follow_links(path);
  return real && faccessat(AT_FDCWD, (prefix_text_ + *real).c_str(), W_OK, AT_EACCESS) == 0;
}

std::vector<std::string> Sysroot::list(std::string_view folder) const {
  std::vector<std::string> names;
  const int descriptor = open_descriptor(folder, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(fdopendir(descriptor), closedir);
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

int Sysroot::open_descriptor(std::string_view path, int flags) const {
  flags |= O_CLOEXEC | ((flags & O_PATH) != 0 ? 0 : O_NOCTTY);
  // Without a prefix the kernel's own walk is the right one.
  if (prefix_text_.empty()) return ::open(std::string(path).c_str(), flags);
  const int descriptor = open_in_root(prefix_text_, std::string(path), flags);
  if (descriptor >= 0 || !walk_instead(errno)) return descriptor;
  const std::optional<std::string> followed = follow_links(path);
  if (!followed) {
    errno = ELOOP;
    return -1;
  }
  return ::open((prefix_text_ + *followed).c_str(), flags);
}

std::string Sysroot::read(std::string_view path) const {
  const FileDescriptor file{open_descriptor(path, O_RDONLY)};
  if (file.value < 0) throw_file_error("open", shown(path), errno);
  constexpr std::size_t kMostBytes = 1 << 20;
  std::string text(4096, '\0');
  std::size_t have = 0;
  while (true) {
    const ssize_t got =
        pread(file.value, text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", shown(path), errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
    if (have >= kMostBytes) throw_file_error("read", shown(path), EFBIG);
    if (have == text.size()) text.resize(text.size() * 2);
  }
  return std::string(trimmed({text.data(), have}));
}

std::optional<std::string> Sysroot::try_read(std::string_view path) const {
  try {
    return read(path);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

void Sysroot::write(std::string_view path, std::string_view text) {
  const FileDescriptor file{open_descriptor(path, O_WRONLY)};
  if (file.value < 0) throw_write_error(text, shown(path), errno);
  count_write();
  const int error = write_once(file.value, text, is_plain(file.value));
  if (error != 0) throw_write_error(text, shown(path), error);
}

DeviceFile Sysroot::open(std::string_view path, Access access) {
  const int descriptor = open_descriptor(path, access == Access::read ? O_RDONLY : O_RDWR);
  if (descriptor < 0) {
    throw_file_error(access == Access::read ? "open" : "open for writing", shown(path), errno);
  }
  return DeviceFile(this, shown(path), descriptor);
}

std::optional<DeviceFile> Sysroot::try_open(std::string_view path) {
  const int descriptor = open_descriptor(path, O_RDONLY);
  if (descriptor < 0) return std::nullopt;
  return DeviceFile(this, shown(path), descriptor);
}

void Sysroot::count_write() {
  if (++writes_ == stop_at_write_) raise(stop_signal_);
}

}  // namespace gearshift

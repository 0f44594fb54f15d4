#include "bridge/script_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

namespace gearshift {
namespace {

[[noreturn]] void fail_script(const std::filesystem::path& path, const std::string& why) {
  throw std::runtime_error("script " + path.string() + ": " + why);
}

std::string too_large() {
  return "is larger than " + std::to_string(kMaxScriptBytes) +
         " bytes, which is the most that is read";
}

// Whose the link is that the path ends in; nullopt where it ends in none.
std::optional<std::uint32_t> link_owner(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return std::nullopt;
  return status.st_uid;
}

}  // namespace

// Up to one byte more than a script may have, so that the caller can tell. nullopt: errno says why.
std::optional<ScriptFile::Read> ScriptFile::read_bounded(const std::filesystem::path& path) {
  // Not to block on a pipe that was given as a script.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  struct stat status {};
  ssize_t count = ::fstat(descriptor, &status);  // of what is read, whatever the path names by now
  std::string text(kMaxScriptBytes + 1, '\0');
  std::size_t size = 0;
  while (count >= 0 && size < text.size() &&
         (count = ::read(descriptor, text.data() + size, text.size() - size)) > 0) {
    size += static_cast<std::size_t>(count);
  }
  const int code = errno;
  ::close(descriptor);
  errno = code;
  if (count < 0) return std::nullopt;
  text.resize(size);
  return Read{std::move(text), {status.st_uid, (status.st_mode & S_IROTH) != 0}};
}

ScriptFile::ScriptFile(std::filesystem::path path) : path_(std::move(path)), watch_(path_) {
  if (path_.empty()) return;
  std::optional<Read> read = read_bounded(path_);
  const int code = errno;
  if (!read) fail_script(path_, std::string(std::strerror(code)) + "; give a Lua file to read");
  const std::optional<std::uint32_t> linked_by = link_owner(path_);
  const bool of_another = linked_by.value_or(0) != 0 && *linked_by != read->kind.owner;
  if (::geteuid() == 0 && of_another && !read->kind.open_to_all) {
    fail_script(path_, "is a link of user " + std::to_string(*linked_by) +
                           " to a file of another, which not all may read; give the file itself");
  }
  if (read->text.size() > kMaxScriptBytes) fail_script(path_, too_large());
  first_ = read->kind;
  text_ = std::move(read->text);
  if (!watch_.watches()) complain_unwatched();
}

void ScriptFile::complain_unwatched() {
  complaint_ = "script " + path_.string() +
               ": cannot be watched, so that an edit of it counts only once the daemon is sent "
               "SIGHUP; its folder must be there, or raise fs.inotify.max_user_instances";
}

bool ScriptFile::take_changes() {
  if (!watch_.take_changes()) return false;
  if (!watch_.watches()) complain_unwatched();
  return reload();
}

std::string ScriptFile::take_complaint() { return std::exchange(complaint_, {}); }

bool ScriptFile::reload() {
  if (path_.empty()) return false;
  std::optional<Read> read = read_bounded(path_);
  if (!read || read->text.empty() || !admits(read->kind)) return false;
  std::string& text = read->text;
  if (text.size() > kMaxScriptBytes) text = "error(\"the script " + too_large() + "\", 0)";
  if (text == text_) return false;
  text_ = std::move(text);
  return true;
}

// Who writes the script may put a link there to what only root may read, and recordings show a
// script's text.
bool ScriptFile::admits(const Kind& kind) {
  if (::geteuid() != 0) return true;
  const bool refused = kind.owner != first_.owner || (first_.open_to_all && !kind.open_to_all);
  const bool told = std::exchange(refused_, refused);
  if (!refused || told) return !refused;
  const std::string owner = "user " + std::to_string(first_.owner);
  complaint_ = "script " + path_.string() +
               ": what is there now is not taken: root reads what belongs to " + owner +
               " and is no less open than it was; chown and chmod it so, or start the daemon anew";
  return false;
}

}  // namespace gearshift

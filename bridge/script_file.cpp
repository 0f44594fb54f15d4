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

// Up to one byte more than a script may have, so that the caller can tell. nullopt: errno says why.
std::optional<std::string> read_bounded(const std::filesystem::path& path) {
  // Not to block on a pipe that was given as a script.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  std::string text(kMaxScriptBytes + 1, '\0');
  std::size_t size = 0;
  ssize_t count = 0;
  while (size < text.size() &&
         (count = ::read(descriptor, text.data() + size, text.size() - size)) > 0) {
    size += static_cast<std::size_t>(count);
  }
  const int code = errno;
  ::close(descriptor);
  errno = code;
  if (count < 0) return std::nullopt;
  text.resize(size);
  return text;
}

}  // namespace

ScriptFile::ScriptFile(std::filesystem::path path) : path_(std::move(path)), watch_(path_) {
  if (path_.empty()) return;
  std::optional<std::string> text = read_bounded(path_);
  const int code = errno;
  if (!text) fail_script(path_, std::string(std::strerror(code)) + "; give a Lua file to read");
  if (text->size() > kMaxScriptBytes) fail_script(path_, too_large());
  text_ = std::move(*text);
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
  std::optional<std::string> text = read_bounded(path_);
  if (!text || text->empty()) return false;
  if (text->size() > kMaxScriptBytes) *text = "error(\"the script " + too_large() + "\", 0)";
  if (*text == text_) return false;
  text_ = std::move(*text);
  return true;
}

}  // namespace gearshift

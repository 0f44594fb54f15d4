#include "bridge/script_file.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

namespace gearshift {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
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

ScriptFile::ScriptFile(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::filesystem::path folder = path_.parent_path();
  if (folder.empty()) folder = ".";
  // The watch comes before the read, so that no change falls between them.
  descriptor_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor_ >= 0) {
    ::inotify_add_watch(descriptor_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
  }
  std::optional<std::string> text = read_bounded(path_);
  const int code = errno;
  if (text && text->size() <= kMaxScriptBytes) {
    text_ = std::move(*text);
    return;
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  fail(path_, text ? too_large() : std::string(std::strerror(code)) + "; give a Lua file to read");
}

ScriptFile::~ScriptFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Only what names the script counts, so that it is not read while an editor writes it: an editor
// closes the file, or moves another one to its name.
bool ScriptFile::take_changes() {
  alignas(inotify_event) std::array<char, 4096> buffer;
  const std::string name = path_.filename().string();
  bool ours = false;
  ssize_t size = 0;
  while ((size = ::read(descriptor_, buffer.data(), buffer.size())) > 0) {
    std::size_t offset = 0;
    while (offset < static_cast<std::size_t>(size)) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + offset);
      ours |= (event->mask & IN_Q_OVERFLOW) != 0 || (event->len > 0 && name == event->name);
      offset += sizeof(inotify_event) + event->len;
    }
  }
  return ours && reload();
}

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

#include "bridge/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace gearshift {

FileWatch::FileWatch(const std::filesystem::path& path) : name_(path.filename().string()) {
  if (path.empty()) return;
  std::filesystem::path folder = path.parent_path();
  if (folder.empty()) folder = ".";
  descriptor_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE;
  watches_ = descriptor_ >= 0 && ::inotify_add_watch(descriptor_, folder.c_str(), kChanges) >= 0;
}

FileWatch::~FileWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Only what names the file counts, so that it is not read while an editor writes it: an editor
// closes the file, or moves another one to its name.
bool FileWatch::take_changes() {
  if (descriptor_ < 0) return false;
  alignas(inotify_event) std::array<char, 4096> buffer;
  bool ours = false;
  ssize_t size = 0;
  while ((size = ::read(descriptor_, buffer.data(), buffer.size())) > 0) {
    std::size_t offset = 0;
    while (offset < static_cast<std::size_t>(size)) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + offset);
      ours |= (event->mask & IN_Q_OVERFLOW) != 0 || (event->len > 0 && name_ == event->name);
      offset += sizeof(inotify_event) + event->len;
    }
  }
  return ours;
}

}  // namespace gearshift

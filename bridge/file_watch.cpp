#include "bridge/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace gearshift {

FileWatch::FileWatch(const std::filesystem::path& path)
    : name_(path.filename().string()), folder_(path.parent_path()) {
  if (path.empty()) return;
  if (folder_.empty()) folder_ = ".";
  descriptor_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  watches_ = descriptor_ >= 0 && watch_folder();
}

bool FileWatch::watch_folder() {
  constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  // A folder that was moved is watched where it is now; of one that is gone there is no watch.
  if (watch_ >= 0) ::inotify_rm_watch(descriptor_, watch_);
  watch_ = ::inotify_add_watch(descriptor_, folder_.c_str(), kChanges);
  return watch_ >= 0;
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
  bool folder_gone = false;
  ssize_t size = 0;
  while ((size = ::read(descriptor_, buffer.data(), buffer.size())) > 0) {
    std::size_t offset = 0;
    while (offset < static_cast<std::size_t>(size)) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + offset);
      offset += sizeof(inotify_event) + event->len;
      ours |= (event->mask & IN_Q_OVERFLOW) != 0;
      if (event->wd != watch_) continue;  // of the folder before
      ours |= event->len > 0 && name_ == event->name;
      constexpr std::uint32_t kGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;
      folder_gone |= (event->mask & kGone) != 0;
    }
  }
  if (!folder_gone && watches_) return ours;
  const bool before = watches_;
  watches_ = watch_folder();
  return ours || folder_gone || watches_ != before;
}

}  // namespace gearshift

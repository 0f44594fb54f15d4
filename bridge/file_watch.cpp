#include "bridge/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <system_error>
#include <utility>

namespace gearshift {

FileWatch::FileWatch(const std::filesystem::path& path)
    : own_{path.parent_path(), path.filename().string()} {
  if (path.empty()) return;
  if (own_.folder.empty()) own_.folder = ".";
  descriptor_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  watches_ = descriptor_ >= 0 && watch_both();
}

FileWatch::~FileWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// A folder that was moved is watched where it is now; of one that is gone there is no watch.
bool FileWatch::watch(Place& place) {
  constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  const int before = place.watch;
  place.watch = ::inotify_add_watch(descriptor_, place.folder.c_str(), kChanges);
  if (before != place.watch) unwatch(before);
  return place.watch >= 0;
}

// Both places may share one: inotify has one watch a folder.
void FileWatch::unwatch(int watch) {
  if (watch < 0 || watch == own_.watch || watch == target_.watch) return;
  ::inotify_rm_watch(descriptor_, watch);
}

bool FileWatch::watch_both() {
  const bool own = watch(own_);
  follow_link();
  return (!linked() || watch(target_)) && own;
}

// A link that leads nowhere for the moment, while an editor replaces the file, leads where it did.
bool FileWatch::follow_link() {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(own_.folder / own_.name, error);
  if (error) return false;
  const std::filesystem::path home = std::filesystem::canonical(own_.folder, error);
  if (error) return false;
  Place next;
  if (file != home / own_.name) next = {file.parent_path(), file.filename().string()};
  if (next.folder == target_.folder && next.name == target_.name) return false;
  const int before = std::exchange(target_, std::move(next)).watch;
  unwatch(before);
  return true;
}

// Only what names the file counts, so that it is not read while an editor writes it: an editor
// closes the file, or moves another one to its name.
void FileWatch::take(const inotify_event& event, Seen& seen) const {
  constexpr std::uint32_t kGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;
  seen.file |= (event.mask & IN_Q_OVERFLOW) != 0;
  seen.beside |= event.wd == own_.watch;
  for (const Place* place : {&own_, &target_}) {
    if (event.wd != place->watch) continue;  // of a folder before
    seen.file |= event.len > 0 && place->name == event.name;
    seen.gone |= (event.mask & kGone) != 0;
  }
}

FileWatch::Seen FileWatch::read_events() {
  alignas(inotify_event) std::array<char, 4096> buffer;
  Seen seen;
  ssize_t size = 0;
  while ((size = ::read(descriptor_, buffer.data(), buffer.size())) > 0) {
    std::size_t offset = 0;
    while (offset < static_cast<std::size_t>(size)) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + offset);
      offset += sizeof(inotify_event) + event->len;
      take(*event, seen);
    }
  }
  return seen;
}

bool FileWatch::take_changes() {
  if (descriptor_ < 0) return false;
  const Seen seen = read_events();
  if (seen.gone || !watches_) {
    const bool before = watches_;
    watches_ = watch_both();
    return seen.file || seen.gone || watches_ != before;
  }
  // What a link passes on its way is often in its own folder: ..data of Kubernetes.
  const bool leads_elsewhere = (seen.file || (linked() && seen.beside)) && follow_link();
  if (leads_elsewhere && linked()) watches_ = watch(target_);
  return seen.file || leads_elsewhere;
}

}  // namespace gearshift

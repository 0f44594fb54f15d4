// Tells when a file was written, replaced or removed.
#pragma once

#include <filesystem>
#include <string>

struct inotify_event;

namespace gearshift {

// Watches the file's folder with inotify: editors replace a file rather than write to it. A folder
// that takes the place of this one is watched from then on. Of a symbolic link the folder that it
// leads to in the end is watched too, and another one once it leads there.
class FileWatch {
 public:
  // An empty path, and a folder that cannot be watched: nothing ever changes.
  explicit FileWatch(const std::filesystem::path& path);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Readable when something in a folder has changed; -1 where nothing is watched.
  int descriptor() const { return descriptor_; }
  // False where no change will be seen though a path was given: a folder is gone, or the system
  // has no watches left. take_changes() looks for it again.
  bool watches() const { return watches_; }
  // Takes what inotify has to say. True where some of it was about the file, or about which folder
  // has it. Never blocks.
  bool take_changes();

 private:
  struct Place {
    std::filesystem::path folder;
    std::string name;
    int watch = -1;
  };
  // What inotify said.
  struct Seen {
    bool file = false;    // something of the file, or perhaps
    bool beside = false;  // something in the folder of the path
    bool gone = false;    // a folder
  };

  bool linked() const { return !target_.folder.empty(); }
  Seen read_events();
  void take(const inotify_event& event, Seen& seen) const;
  bool watch(Place& place);
  void unwatch(int watch);
  bool watch_both();
  // Looks where the path leads. True where that is another place than before.
  bool follow_link();

  Place own_;     // as the path says
  Place target_;  // where a link leads; no folder where the path is none
  int descriptor_ = -1;
  bool watches_ = true;
};

}  // namespace gearshift

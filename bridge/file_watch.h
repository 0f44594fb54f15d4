// Tells when a file was written, replaced or removed.
#pragma once

#include <filesystem>
#include <string>

namespace gearshift {

// Watches the file's folder with inotify: editors replace a file rather than write to it. A folder
// that takes the place of this one is watched from then on.
class FileWatch {
 public:
  // An empty path, and a folder that cannot be watched: nothing ever changes.
  explicit FileWatch(const std::filesystem::path& path);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Readable when something in the folder has changed; -1 where nothing is watched.
  int descriptor() const { return descriptor_; }
  // False where no change will be seen though a path was given: the folder is gone, or the system
  // has no watches left. take_changes() looks for it again.
  bool watches() const { return watches_; }
  // Takes what inotify has to say. True where some of it was about the file, or about which folder
  // has it. Never blocks.
  bool take_changes();

 private:
  bool watch_folder();

  std::string name_;
  std::filesystem::path folder_;
  int descriptor_ = -1;
  int watch_ = -1;
  bool watches_ = true;
};

}  // namespace gearshift

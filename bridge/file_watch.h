// Tells when a file was written, replaced or removed.
#pragma once

#include <filesystem>
#include <string>

namespace gearshift {

// Watches the file's folder with inotify: editors replace a file rather than write to it.
class FileWatch {
 public:
  // An empty path, and a folder that cannot be watched: nothing ever changes.
  explicit FileWatch(const std::filesystem::path& path);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // Readable when something in the folder has changed; -1 where nothing is watched.
  int descriptor() const { return descriptor_; }
  // False where no change will ever be seen though a path was given.
  bool watches() const { return watches_; }
  // Takes what inotify has to say. True where some of it was about the file. Never blocks.
  bool take_changes();

 private:
  std::string name_;
  int descriptor_ = -1;
  bool watches_ = true;
};

}  // namespace gearshift

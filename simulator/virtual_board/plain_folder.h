// Shows a virtual board as plain files, where FUSE is not to be had: a loop applies what was
// written to them and refreshes what they say.
//
// Sleeps between two looks. What only a file system can do is missing: a file whose read would fail
// is empty (a zone that is powered down says what older kernels say), a write is never refused (the
// old value comes back), and permissions are those of the files. A workload's load
// lasts while the process of its pid does.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "controller/clock.h"
#include "simulator/board_state.h"

namespace gearshift {

class PlainFolder {
 public:
  static constexpr Duration kPeriod = std::chrono::milliseconds(50);

  // Writes the tree into `folder`, which must be empty. Throws std::runtime_error. The board and
  // the clock must outlive the folder.
  PlainFolder(BoardState& board, const Clock& clock, const std::filesystem::path& folder);
  // Removes what it wrote.
  ~PlainFolder();
  PlainFolder(const PlainFolder&) = delete;
  PlainFolder& operator=(const PlainFolder&) = delete;

  // One look: takes writes and loads, then refreshes all files.
  void refresh();
  // Looks again and again until SIGINT, SIGTERM or SIGHUP comes.
  void serve();

 private:
  struct File {
    std::string path;  // on the board
    bool writable = false;
    std::string shown;  // its text, as we last wrote it
    int descriptor = -1;
  };

  void add(const std::string& path);
  void take_write(File& file);
  void take_loads(const std::string& text);
  void end_dead_loads();
  void show(File& file);

  BoardState& board_;
  const Clock& clock_;
  const std::filesystem::path folder_;
  std::vector<File> files_;
  std::map<std::int32_t, LoadHandle> loads_;  // by pid
};

}  // namespace gearshift

// Serves a virtual board as a FUSE file system, so that programs meet it as they meet a real one.
//
// Has threads (libfuse's), because a read of a power rail may be told to take long and must not
// hold up the others; one lock makes the board see one of them at a time. Sleeps, to be as slow as
// the hardware is.
#pragma once

#include <filesystem>
#include <mutex>

#include "controller/clock.h"
#include "simulator/board_state.h"

struct fuse;

namespace gearshift {

class FuseMount {
 public:
  // Mounts at `folder`, which must be empty. Root's mounts are open to all users, as /sys is.
  // Throws std::runtime_error. The board and the clock must outlive the mount.
  FuseMount(BoardState& board, const Clock& clock, const std::filesystem::path& folder);
  // Unmounts.
  ~FuseMount();
  FuseMount(const FuseMount&) = delete;
  FuseMount& operator=(const FuseMount&) = delete;

  // Answers until one of those signals came, or somebody unmounts the folder. Until it is called,
  // whoever looks into the folder waits. Throws std::runtime_error.
  void serve();

 private:
  friend struct FuseOperations;

  BoardState& board_;
  const Clock& clock_;
  std::mutex mutex_;  // guards board_
  fuse* fuse_ = nullptr;
};

}  // namespace gearshift

// Where a daemon tells what it does: nobody has to read it, and nothing waits for a reader.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gearshift {

// What is told between two lines, where so many were left out.
using GapText = std::function<std::string(std::uint64_t lines)>;
std::string gap_text(std::uint64_t lines);

// A terminal that is held (Ctrl-S), a pipe that fills up, a connection that hangs: a write there
// waits until somebody reads, and a loop that waits guards no cap.
class Outlet {
 public:
  // Borrows the descriptor, which stays as it is: others may share it.
  explicit Outlet(int descriptor, GapText gap = gap_text);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // Writes `text`, one line or several, at once. Where there is no room it is left out, and the
  // next that is written begins with how many lines are missing.
  void tell(std::string_view text);
  // Writes what may be missing unnoticed: a live line that the next one draws over.
  void show(std::string_view text);
  // True once there is room, within so long: for the last lines, when nothing is left to guard.
  bool await_room(int timeout_ms) const;
  // Lines since the last that was written.
  std::uint64_t left_out() const { return left_out_; }

 private:
  bool write(std::string_view text);
  int target() const { return own_ >= 0 ? own_ : descriptor_; }

  int descriptor_;
  int own_;  // the same place, opened so that it never waits; -1: not to be had
  GapText gap_;
  std::uint64_t left_out_ = 0;
  bool cut_ = false;  // the last line ends in its middle
};

}  // namespace gearshift

// Takes the signals that end the daemon in a thread of its own, since its loop may stand still: a
// call into a driver that hangs does not return for a signal. The thread is this file's purpose.
#pragma once

#include <thread>

namespace gearshift {

// SIGINT, SIGTERM and SIGHUP. Once one of the first two has been handed over, another one ends the
// process at once, as it does by default. Those of the first second count as echoes of it: a
// terminal tells a whole group, whose members tell each other.
class SignalWatch {
 public:
  // Blocks them from now on, for good; so before any other thread exists. Throws std::runtime_error
  // and std::system_error where the machine is out of descriptors or threads.
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Readable when take() has a signal.
  int descriptor() const { return come_[0]; }
  // The number of a signal that came, 0 where none did. Does not block.
  int take();

 private:
  void run();
  void close_all();

  int signals_ = -1;
  int stop_ = -1;
  int come_[2] = {-1, -1};  // a pipe
  std::thread thread_;
};

}  // namespace gearshift

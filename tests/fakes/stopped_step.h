// A step to the safe mode in a process of its own, whose first write does not return for as long as
// a test likes.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "actuators/guardian.h"
#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/clock.h"

namespace gearshift::fakes {

class StoppedStep {
 public:
  // Forks: before there is a lock or a connection that the process would share.
  StoppedStep(const BoardDescription& board, Sysroot& root, const Clock& clock,
              const std::filesystem::path& journal) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ != 0) {
      close(ends[0]);
      begin_ = ends[1];
      return;
    }
    close(ends[1]);  // so that it ends with a test that never begins
    char word = 0;
    if (read(ends[0], &word, 1) != 1) _exit(1);
    root.stop_at_write(1, SIGSTOP);
    step_to_safe_mode(board, root, clock, journal);
    _exit(0);
  }
  // Whatever has failed, no stopped process is left for who waits for the test's.
  ~StoppedStep() {
    close(begin_);
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  StoppedStep(const StoppedStep&) = delete;
  StoppedStep& operator=(const StoppedStep&) = delete;

  // Returns once the write is begun.
  void begin() const {
    ASSERT_EQ(write(begin_, "s", 1), 1);
    int status = 0;
    ASSERT_EQ(waitpid(process_, &status, WUNTRACED), process_);
    ASSERT_TRUE(WIFSTOPPED(status)) << status;
  }
  // Returns once the step has ended.
  void go_on() {
    kill(process_, SIGCONT);
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_EQ(status, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
  int begin_ = -1;
};

}  // namespace gearshift::fakes

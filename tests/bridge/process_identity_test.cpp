#include "bridge/process_identity.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace gearshift {
namespace {

// A process that waits to be killed, once it runs as these users.
class WaitingProcess {
 public:
  WaitingProcess(uid_t real, uid_t effective) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const char done = setresuid(real, effective, 0) == 0 ? 'y' : 'n';
      [[maybe_unused]] const ssize_t put = write(ready[1], &done, 1);
      while (true) pause();
    }
    char done = 'n';
    EXPECT_EQ(::read(ready[0], &done, 1), 1);
    EXPECT_EQ(done, 'y');
    close(ready[0]);
    close(ready[1]);
  }
  ~WaitingProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::int32_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(ProcessIdentity, IsTheUserAndTheStart) {
  const auto found = identify_process(::getpid());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->user, ::geteuid());
  EXPECT_GT(found->started, identify_process(1)->started);
  EXPECT_EQ(identify_process(::getpid()), found);
}

TEST(ProcessIdentity, IsNoneWithoutAProcess) {
  for (const std::int32_t pid : {0, -1, INT32_MAX}) {
    EXPECT_EQ(identify_process(pid), std::nullopt) << pid;
  }
}

TEST(ProcessIdentity, IsNoneWhereTheUsersDiffer) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start a process as another user";
  const auto identity = [](uid_t real, uid_t effective) {
    return identify_process(WaitingProcess(real, effective).pid());
  };
  EXPECT_EQ(identity(12345, 12345)->user, 12345u);
  EXPECT_EQ(identity(12345, 0), std::nullopt) << "a setuid program";
  EXPECT_EQ(identity(0, 12345), std::nullopt);
}

}  // namespace
}  // namespace gearshift

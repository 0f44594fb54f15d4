// What a guardian that cannot be made leaves behind.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "actuators/guardian.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return std::distance(begin(open), end(open));
}

std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

class GuardianStart : public testing::Test {
 protected:
  std::string failure() {
    try {
      const Guardian guardian(description_, root_, clock_,
                              {.journal = state_.at("/knobs.journal")});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  // Ten times, in a process that `limits` itself before: its exit code.
  int code_of_failures(bool (*limits)(), const std::string& why) {
    const pid_t child = fork();
    if (child == 0) {
      if (!limits()) _exit(2);
      if (failure().find(why) == std::string::npos) _exit(3);
      const auto descriptors = open_descriptors();
      const auto mapped = mappings();
      for (int times = 0; times < 10; ++times) {
        if (failure().find(why) == std::string::npos) _exit(4);
      }
      if (open_descriptors() != descriptors) _exit(5);
      _exit(mapped > 0 && mappings() == mapped ? 0 : 6);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const fakes::DirectoryBoard board_;
  const fakes::TempTree state_;
  Sysroot root_{board_.root()};
  const BoardDescription description_ = board_.description();
  const fakes::TickingClock clock_;
};

TEST_F(GuardianStart, LeavesNoDescriptorAndNoPageBehindWhereNoProcessIsToBeHad) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user with one process";
  const auto limits = [] {
    constexpr uid_t kNobody = 65534;
    const rlimit one{.rlim_cur = 1, .rlim_max = 1};
    return setrlimit(RLIMIT_NPROC, &one) == 0 && setgid(kNobody) == 0 && setuid(kNobody) == 0;
  };
  EXPECT_EQ(code_of_failures(limits, "cannot fork: Resource temporarily unavailable; free "), 0);
}

TEST_F(GuardianStart, LeavesNoPageBehindWhereNoDescriptorIsToBeHad) {
  const auto limits = [] {
    const int next = dup(0);  // room for what counts them alone
    if (next < 0) return false;
    close(next);
    const auto most = static_cast<rlim_t>(next) + 1;
    const rlimit limit{.rlim_cur = most, .rlim_max = most};
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
  };
  EXPECT_EQ(code_of_failures(limits, "no socket pair: Too many open files; give "), 0);
}

}  // namespace
}  // namespace gearshift

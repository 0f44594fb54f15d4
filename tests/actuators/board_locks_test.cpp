// Where the locks of boards are, of a user who has no runtime folder.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "actuators/holder_lock.h"
#include "tests/fakes/file_mode.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

// Whether the locks of user `who`, who has no runtime folder, are in `folder`.
bool locks_are_in(const std::filesystem::path& folder, uid_t who,
                  const std::filesystem::path& home) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(who) != 0 || setuid(who) != 0) _exit(2);
    unsetenv("XDG_RUNTIME_DIR");
    setenv("HOME", home.c_str(), 1);
    try {
      _exit(board_locks() == folder ? 0 : 1);
    } catch (const std::runtime_error&) {
      _exit(3);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(BoardLocks, WhoTakesTheNameInTmpFirstKeepsNobodyFromTheBoard) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can play two users";
  const uid_t who = 20000 + static_cast<uid_t>(getpid()) % 30000;  // nobody's on most machines
  const std::filesystem::path shared = "/tmp/gearshift-boards-" + std::to_string(who);
  const fakes::TempTree home;
  const std::filesystem::path own = home.at("/.local/state/gearshift/boards");
  ASSERT_EQ(chown(home.root().c_str(), who, who), 0);
  EXPECT_TRUE(locks_are_in(shared, who, home.root()));
  ASSERT_EQ(chown(shared.c_str(), who + 1, who + 1), 0);
  EXPECT_FALSE(locks_are_in(own, who, "")) << "there is no home";
  EXPECT_TRUE(locks_are_in(own, who, home.root()));
  EXPECT_EQ(fakes::mode_of(own), 0700U);
  ASSERT_EQ(rmdir(shared.c_str()), 0);
  EXPECT_TRUE(locks_are_in(own, who, home.root())) << "one place, for the daemon that is there too";
  EXPECT_FALSE(std::filesystem::exists(shared));
}

}  // namespace
}  // namespace gearshift

#include "actuators/private_socket.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actuators/remote_actuator.h"
#include "tests/fakes/file_mode.h"
#include "tests/fakes/temp_tree.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

TEST(PrivateSocket, OfAnotherUserThanRootIsNoHelper) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const fakes::TempTree tree;
  ASSERT_EQ(::chown(tree.root().c_str(), 65534, 65534), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t impostor = fork();
  if (impostor == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(1);
    const PrivateSocket socket(tree.at("/knobs.sock"), 65534);
    close(ready[1]);
    pause();
  }
  close(ready[1]);
  char none = 0;
  EXPECT_EQ(read(ready[0], &none, 1), 0);
  close(ready[0]);
  try {
    const RemoteActuator taken(tree.at("/knobs.sock"), "directory-board", fakes::TickingClock());
    ADD_FAILURE() << "taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("neither root nor this user"), std::string::npos)
        << error.what();
  }
  kill(impostor, SIGKILL);
  waitpid(impostor, nullptr, 0);
}

TEST(PrivateSocket, IsInAFolderThatIsMadeForItsOwnerToWriteWhateverTheUmask) {
  const fakes::TempTree tree;
  for (const mode_t mask : {0U, 0077U}) {
    const std::string name = "/" + std::to_string(mask);
    const mode_t before = umask(mask);
    { const PrivateSocket socket(tree.at(name + "/run/knobs.sock"), geteuid()); }
    umask(before);
    EXPECT_EQ(fakes::mode_of(tree.at(name)), 0755U & ~mask);
    EXPECT_EQ(fakes::mode_of(tree.at(name + "/run")), 0755U) << "its user is to pass it";
  }
}

TEST(PrivateSocket, IsNotMadeWhereOthersMayPutFilesOrInThePlaceOfAFile) {
  const fakes::TempTree tree;
  tree.put("/file", "");
  EXPECT_THROW(PrivateSocket(tree.at("/file"), geteuid()), std::runtime_error);
  EXPECT_EQ(tree.get("/file"), "");
  tree.mode("/", 0777);
  EXPECT_THROW(PrivateSocket(tree.at("/knobs.sock"), geteuid()), std::runtime_error);
  tree.mode("/", 0755);
  EXPECT_THROW(PrivateSocket(tree.at("/" + std::string(200, 'x')), geteuid()), std::runtime_error);
  const pid_t killed = fork();
  if (killed == 0) {
    const PrivateSocket left_over(tree.at("/knobs.sock"), geteuid());
    _exit(0);
  }
  waitpid(killed, nullptr, 0);
  ASSERT_TRUE(std::filesystem::exists(tree.at("/knobs.sock")));
  EXPECT_NO_THROW(PrivateSocket(tree.at("/knobs.sock"), geteuid()));
}

TEST(PrivateSocket, IsOneProcessesAlone) {
  const fakes::TempTree tree;
  const PrivateSocket first(tree.at("/knobs.sock"), geteuid());
  // Even where its file is gone, and nobody could connect to find it.
  std::filesystem::remove(tree.at("/knobs.sock"));
  EXPECT_THROW(PrivateSocket(tree.at("/knobs.sock"), geteuid()), BusyError);
}

}  // namespace
}  // namespace gearshift

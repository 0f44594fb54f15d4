// Mounts real file systems: waits for other processes, and is skipped where FUSE cannot be used.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/boottime_clock.h"
#include "simulator/virtual_board/fuse_mount.h"
#include "simulator/virtual_board/mount_point.h"
#include "simulator/virtual_board/plain_folder.h"
#include "tests/fakes/temp_tree.h"
#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

// A board that another process serves, as the program does.
class MountedBoard : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string obstacle = fuse_obstacle();
    if (!obstacle.empty()) GTEST_SKIP() << "FUSE cannot be used here: " << obstacle;
    folder_ = (tree_.root() / "board").string();
    serve();
  }
  void TearDown() override {
    if (server_ > 0) stop(SIGTERM);
    unmount(folder_);
  }

  void serve() {
    prepare_mount_point(folder_);
    std::array<int, 2> ready{};
    ASSERT_EQ(pipe(ready.data()), 0);
    server_ = fork();
    if (server_ == 0) {
      try {
        BoardState board(built_in_board("jetson-agx-orin"), {.noise = 0});
        const BoottimeClock clock;
        FuseMount mount(board, clock, folder_);
        if (write(ready[1], "r", 1) != 1) _exit(1);
        mount.serve();
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        _exit(1);
      }
      _exit(0);
    }
    close(ready[1]);
    char byte = 0;
    const bool mounted = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (!mounted) GTEST_SKIP() << "FUSE does not mount here";
    root_ = std::make_unique<Sysroot>(folder_);
  }
  int stop(int signal) {
    kill(server_, signal);
    int status = 0;
    waitpid(server_, &status, 0);
    server_ = -1;
    return status;
  }

  fakes::TempTree tree_;
  std::string folder_;
  std::unique_ptr<Sysroot> root_;
  pid_t server_ = -1;
  const std::string gpu_ = "/sys/class/devfreq/17000000.gpu/";
};

TEST_F(MountedBoard, IsDetectedAndSetAsARealOne) {
  EXPECT_EQ(detect_board(*root_, built_in_boards()).board->id, "jetson-agx-orin");
  DeviceFile limit = root_->open(gpu_ + "max_freq", Sysroot::Access::read_write);
  DeviceFile clock = root_->open(gpu_ + "cur_freq");
  EXPECT_EQ(limit.read_integer(), 612000000);
  EXPECT_EQ(clock.read_integer(), 306000000);
  DeviceFile load = root_->open(BoardState::kLoadPath, Sysroot::Access::read_write);
  load.write("pid=1 name=resnet18\n");
  EXPECT_EQ(clock.read_integer(), 612000000) << "a kept descriptor reads anew";
  limit.write("1300500000");
  EXPECT_EQ(limit.read_integer(), 1300500000);
  EXPECT_EQ(clock.read_integer(), 1300500000);
}

TEST_F(MountedBoard, FailsWithTheErrorsOfARealOne) {
  const auto code_of_write = [&](const std::string& path, const char* text) {
    try {
      root_->write(path, text);
      return 0;
    } catch (const FileError& error) {
      return error.code();
    }
  };
  EXPECT_EQ(code_of_write("/sys/devices/system/cpu/cpu0/online", "0"), EBUSY);
  EXPECT_EQ(code_of_write(gpu_ + "max_freq", "fast"), EINVAL);
  EXPECT_EQ(code_of_write(gpu_ + "cur_freq", "1"), EACCES);
  EXPECT_EQ(code_of_write(gpu_ + "nothing", "1"), ENOENT);
  EXPECT_TRUE(root_->writable(gpu_ + "max_freq"));
  root_->write("/.virtual/faults/eacces", "/sys/class/devfreq/17000000.gpu");
  EXPECT_EQ(code_of_write(gpu_ + "max_freq", "408000000"), EACCES);
  EXPECT_FALSE(root_->writable(gpu_ + "max_freq"));
  root_->write("/.virtual/faults/enoent", "/sys/kernel/debug");
  EXPECT_FALSE(root_->exists("/sys/kernel/debug/bpmp"));
}

TEST_F(MountedBoard, ShowsATextThatIsNotReadFromItsBeginning) {
  const int file = ::open((folder_ + gpu_ + "max_freq").c_str(), O_RDONLY);
  ASSERT_GE(file, 0);
  std::array<char, 16> text{};
  EXPECT_EQ(::pread(file, text.data(), text.size(), 3), 7) << "612000000 and the end of its line";
  EXPECT_EQ(std::string(text.data()), "000000\n");
  ::close(file);
}

TEST_F(MountedBoard, KeepsItsFilesAsTheyAre) {
  const std::string path = folder_ + gpu_ + "max_freq";
  const std::string other = folder_ + gpu_ + "other";
  const auto error_of = [](int result) { return result == 0 ? 0 : errno; };
  EXPECT_EQ(error_of(::rename(path.c_str(), other.c_str())), EPERM);
  EXPECT_EQ(error_of(::symlink(path.c_str(), other.c_str())), EPERM);
  EXPECT_EQ(error_of(::link(path.c_str(), other.c_str())), EPERM);
  EXPECT_EQ(error_of(::chmod(path.c_str(), 0777)), EPERM);
  EXPECT_EQ(error_of(::chown(path.c_str(), 1, 1)), EPERM);
  EXPECT_EQ(error_of(::utimensat(AT_FDCWD, path.c_str(), nullptr, 0)), EPERM);
  EXPECT_EQ(root_->read(gpu_ + "max_freq"), "612000000");
}

TEST_F(MountedBoard, EndsALoadWhoseProcessIsKilled) {
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe(ready.data()), 0);
  const pid_t workload = fork();
  if (workload == 0) {
    DeviceFile load = root_->open(BoardState::kLoadPath, Sysroot::Access::read_write);
    load.write("pid=1 name=resnet18 kind=train");
    if (write(ready[1], "r", 1) != 1) _exit(1);
    pause();
  }
  close(ready[1]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  EXPECT_NE(root_->read(BoardState::kLoadPath), "");
  kill(workload, SIGKILL);
  waitpid(workload, nullptr, 0);
  // The kernel tells the server of a closed file some time after the process is gone.
  for (int tries = 0; tries < 100'000 && !root_->read(BoardState::kLoadPath).empty(); ++tries) {
  }
  EXPECT_EQ(root_->read(BoardState::kLoadPath), "");
}

TEST_F(MountedBoard, AnswersOthersWhileARailBlocks) {
  root_->write("/.virtual/faults/block_read_ms", "1500");
  const std::string rails = "/sys/bus/i2c/devices/1-0040/hwmon/";
  const std::string current = rails + root_->list(rails).at(0) + "/curr1_input";
  const pid_t reader = fork();
  if (reader == 0) _exit(root_->try_read(current) ? 0 : 1);
  for (int i = 0; i < 200; ++i) root_->read(gpu_ + "max_freq");
  int status = 1;
  EXPECT_EQ(waitpid(reader, &status, WNOHANG), 0) << "our reads waited for the blocked one";
  waitpid(reader, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(MountedBoard, UnmountsWhenItIsStopped) {
  EXPECT_EQ(stop(SIGTERM), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(MountedBoard, IsMountedAgainOverOneThatDied) {
  stop(SIGKILL);
  serve();
  EXPECT_EQ(root_->read(gpu_ + "max_freq"), "612000000");
}

TEST(MountPoint, RefusesAFolderWithSomethingInIt) {
  const fakes::TempTree tree;
  tree.put("/board/thing", "precious");
  EXPECT_THROW(prepare_mount_point(tree.at("/board")), std::runtime_error);
  EXPECT_EQ(tree.get("/board/thing"), "precious");
  prepare_mount_point(tree.at("/made/on/the/way"));
  EXPECT_TRUE(std::filesystem::is_directory(tree.at("/made/on/the/way")));
}

class StandingClock : public Clock {
 public:
  Time now() const override { return Time(std::chrono::hours(1)); }
};

TEST(PlainFolder, TakesWritesAndShowsWhatCameOfThem) {
  const fakes::TempTree tree;
  BoardState board(built_in_board("jetson-agx-orin"), {.noise = 0});
  const StandingClock clock;
  PlainFolder folder(board, clock, tree.root());
  Sysroot root(tree.root());
  const std::string gpu = "/sys/class/devfreq/17000000.gpu/";
  DeviceFile limit = root.open(gpu + "max_freq", Sysroot::Access::read_write);
  EXPECT_EQ(limit.read_integer(), 612000000);
  limit.write("99999999999");
  folder.refresh();
  EXPECT_EQ(limit.read_integer(), 1300500000);
  root.write("/sys/devices/system/cpu/cpu0/online", "0");
  folder.refresh();
  EXPECT_EQ(root.read("/sys/devices/system/cpu/cpu0/online"), "1") << "refused: the old value";
  EXPECT_EQ(root.read("/sys/devices/system/cpu/cpufreq/policy8/scaling_cur_freq"), "");
}

// An empty file would be a sensor that failed, and its zone danger after ten seconds.
TEST(PlainFolder, ShowsAZoneWithoutPowerAsPoweredDown) {
  const fakes::TempTree tree;
  BoardState board(built_in_board("jetson-agx-orin"), {.noise = 0});
  const StandingClock clock;
  const PlainFolder folder(board, clock, tree.root());
  Sysroot root(tree.root());
  int off = 0;
  for (const std::string& zone : root.list("/sys/class/thermal")) {
    if (!zone.starts_with("thermal_zone")) continue;
    const std::string text = root.read("/sys/class/thermal/" + zone + "/temp");
    EXPECT_NE(text, "") << zone;
    if (text == "-256000") ++off;
  }
  EXPECT_GE(off, 2) << "the GPU sleeps, and nothing uses the vision blocks";
}

// A look that took as long as judging all settings would leave every other file standing still.
TEST(PlainFolder, WorksOutTheOptimumOfANewLoadOverSeveralLooks) {
  const fakes::TempTree tree;
  BoardState board(built_in_board("jetson-agx-orin"), {.noise = 0});
  const StandingClock clock;
  PlainFolder folder(board, clock, tree.root());
  Sysroot root(tree.root());
  const std::string header = root.read("/.virtual/optimum");
  root.write(BoardState::kLoadPath, "pid=" + std::to_string(getpid()) + " name=lstm");
  folder.refresh();
  EXPECT_EQ(board.loads().all().size(), 1u);
  EXPECT_EQ(root.read("/.virtual/optimum"), header);
  int looks = 1;
  for (; root.read("/.virtual/optimum") == header && looks < 100; ++looks) folder.refresh();
  EXPECT_GT(looks, 5);
  EXPECT_LT(looks, 100);
  EXPECT_EQ(root.read("/.virtual/optimum") + "\n", board.read("/.virtual/optimum").text);
}

TEST(PlainFolder, EndsALoadWithItsProcess) {
  const fakes::TempTree tree;
  BoardState board(built_in_board("jetson-agx-orin"), {.noise = 0});
  const StandingClock clock;
  PlainFolder folder(board, clock, tree.root());
  Sysroot root(tree.root());
  const pid_t workload = fork();
  if (workload == 0) {
    pause();
    _exit(0);
  }
  root.write(BoardState::kLoadPath, "pid=" + std::to_string(workload) + " name=resnet18");
  folder.refresh();
  root.write(BoardState::kLoadPath, "pid=" + std::to_string(getpid()) + " name=lstm");
  folder.refresh();
  EXPECT_EQ(board.loads().all().size(), 2u);
  kill(workload, SIGKILL);
  waitpid(workload, nullptr, 0);
  folder.refresh();
  ASSERT_EQ(board.loads().all().size(), 1u);
  EXPECT_EQ(board.loads().all().begin()->second.name, "lstm");
}

TEST(PlainFolder, TakesItsFilesAway) {
  const fakes::TempTree tree;
  BoardState board(built_in_board("jetson-agx-orin"), {});
  const StandingClock clock;
  { const PlainFolder folder(board, clock, tree.root()); }
  EXPECT_TRUE(std::filesystem::is_empty(tree.root()));
}

}  // namespace
}  // namespace gearshift

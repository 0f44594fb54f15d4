#include "boards/sysroot.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <limits>
#include <utility>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using fakes::TempTree;

template <typename Call>
FileError file_error(Call call) {
  try {
    call();
  } catch (const FileError& error) {
    return error;
  }
  ADD_FAILURE() << "no FileError";
  return FileError("", 0);
}

TEST(Sysroot, ReadsTrimmedTextBelowThePrefix) {
  const TempTree tree;
  tree.put("/sys/a", " 306000000 \n");
  tree.put("/sys/model", std::string("Jetson\0", 7));
  tree.put("/sys/list", std::string("one\0two\0", 8));
  tree.put("/sys/empty", "");
  const Sysroot root(tree.root());
  EXPECT_EQ(root.read("/sys/a"), "306000000");
  EXPECT_EQ(root.read("/sys/model"), "Jetson");
  EXPECT_EQ(root.read("/sys/list"), std::string("one\0two", 7)) << "inner NULs separate";
  EXPECT_EQ(root.read("/sys/empty"), "");
  EXPECT_EQ(root.try_read("/sys/none"), std::nullopt);
  EXPECT_TRUE(root.exists("/sys/a"));
  EXPECT_FALSE(root.exists("/sys/none"));
}

TEST(Sysroot, ReadsFilesWhoseSizeIsToldAsZero) {
  const Sysroot root;
  EXPECT_FALSE(root.read("/proc/self/status").empty());
  EXPECT_GT(root.read("/proc/self/smaps").size(), 4096u) << "and longer than one buffer";
}

TEST(Sysroot, APrefixMayEndInASlash) {
  const TempTree tree;
  tree.put("/sys/a", "1\n");
  EXPECT_EQ(Sysroot(tree.root().string() + "/").read("/sys/a"), "1");
}

TEST(Sysroot, FollowsLinksInsideThePrefix) {
  const TempTree tree;
  tree.put("/sys/devices/gpu/devfreq/17000000.gpu/cur_freq", "306000000\n");
  tree.link("/sys/class/devfreq/17000000.gpu", "../../devices/gpu/devfreq/17000000.gpu");
  tree.link("/sys/devices/gpu.0", "/sys/devices/gpu");  // absolute: on the board, not here
  tree.link("/etc/chain", "/sys/devices/gpu.0/devfreq");
  const Sysroot root(tree.root());
  EXPECT_EQ(root.read("/sys/class/devfreq/17000000.gpu/cur_freq"), "306000000");
  EXPECT_EQ(root.read("/sys/devices/gpu.0/devfreq/17000000.gpu/cur_freq"), "306000000");
  EXPECT_EQ(root.resolve("/etc/chain/17000000.gpu"), "/sys/devices/gpu/devfreq/17000000.gpu");
  EXPECT_EQ(root.resolve("/sys/devices/gpu"), "/sys/devices/gpu");
  EXPECT_EQ(root.resolve("/sys/./devices//gpu/../gpu/"), "/sys/devices/gpu");
  EXPECT_EQ(root.resolve("/not/there"), "/not/there");
  EXPECT_EQ(root.resolve("/"), "/");
}

TEST(Sysroot, NeverLeavesThePrefix) {
  const TempTree tree;
  tree.put("/secret", "inside");
  tree.link("/up", "../../../../../../../../../secret");
  tree.link("/out", "/etc/passwd");
  const Sysroot root(tree.root());
  EXPECT_EQ(root.read("/../../../secret"), "inside");
  EXPECT_EQ(root.read("/up"), "inside");
  EXPECT_FALSE(root.exists("/out")) << "the /etc/passwd of this machine was reached";
}

// As an old kernel or a sandbox does.
void refuse_openat2(std::uint32_t code) {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(steps)), steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(77);
  }
}

TEST(SysrootDeathTest, NeverLeavesThePrefixWhereTheKernelRefusesToWalk) {
  const TempTree tree;
  tree.put("/secret", "inside");
  tree.put("/etc/here", "1");
  tree.link("/up", "../../../../../../../../../secret");
  tree.link("/out", "/etc/passwd");
  tree.link("/absolute", "/etc/here");
  tree.link("/round", "/round");
  for (const std::uint32_t code : {ENOSYS, EPERM}) {
    const auto walk = [&] {
      refuse_openat2(code);
      const Sysroot root(tree.root());
      const bool right =
          root.read("/../../../secret") == "inside" && root.read("/up") == "inside" &&
          root.read("/absolute") == "1" && !root.exists("/out") && root.writable("/absolute") &&
          root.list("/etc").size() == 1 && file_error([&] { root.read("/round"); }).code() == ELOOP;
      _exit(right ? 0 : 1);
    };
    EXPECT_EXIT(walk(), testing::ExitedWithCode(0), "") << "errno " << code;
  }
}

TEST(Sysroot, OpensWhatItCan) {
  const TempTree tree;
  tree.put("/a", "1\n");
  Sysroot root(tree.root());
  ASSERT_TRUE(root.try_open("/a"));
  EXPECT_EQ(root.try_open("/a")->read(), "1");
  EXPECT_FALSE(root.try_open("/none"));
}

TEST(Sysroot, FollowsFortyLinksAndNoMore) {
  const TempTree tree;
  tree.put("/link0", "end");
  for (int i = 1; i <= 41; ++i) {
    tree.link("/link" + std::to_string(i), "link" + std::to_string(i - 1));
  }
  tree.link("/round", "/round");
  const Sysroot root(tree.root());
  EXPECT_EQ(root.read("/link40"), "end");
  EXPECT_EQ(file_error([&] { root.read("/link41"); }).code(), ELOOP);
  const FileError error = file_error([&] { root.read("/round"); });
  EXPECT_EQ(error.code(), ELOOP);
  EXPECT_NE(std::string(error.what()).find("(ELOOP)"), std::string::npos);
  EXPECT_FALSE(root.exists("/round"));
  EXPECT_FALSE(root.writable("/round"));
  EXPECT_TRUE(root.list("/round").empty());
  EXPECT_EQ(root.resolve("/round"), "/round");
}

TEST(Sysroot, ListsNamesInOrder) {
  const TempTree tree;
  tree.folder("/sys/class/hwmon/hwmon2");
  tree.folder("/sys/class/hwmon/hwmon0");
  tree.put("/sys/class/hwmon/a", "");
  const Sysroot root(tree.root());
  EXPECT_EQ(root.list("/sys/class/hwmon"), (std::vector<std::string>{"a", "hwmon0", "hwmon2"}));
  EXPECT_TRUE(root.list("/sys/class/none").empty());
  EXPECT_TRUE(root.list("/sys/class/hwmon/a").empty()) << "not a folder";
}

TEST(Sysroot, AShorterTextLeavesNothingOfALongerOne) {
  const TempTree tree;
  tree.put("/knob", "1300500000\n");
  Sysroot root(tree.root());
  root.write("/knob", "612000000");
  EXPECT_EQ(tree.get("/knob"), "612000000");
  DeviceFile file = root.open("/knob", Sysroot::Access::read_write);
  file.write("5\n");
  EXPECT_EQ(tree.get("/knob"), "5\n");
}

TEST(Sysroot, CountsEachWriteOnceItIsBegun) {
  const TempTree tree;
  tree.put("/knob", "1\n");
  Sysroot root(tree.root());
  EXPECT_EQ(root.writes(), 0u);
  root.write("/knob", "2");
  DeviceFile file = root.open("/knob", Sysroot::Access::read_write);
  file.write("3");
  EXPECT_EQ(root.writes(), 2u);
  file_error([&] { root.write("/none", "4"); });
  EXPECT_EQ(root.writes(), 2u) << "nothing was written where nothing could be opened";
  DeviceFile reader = root.open("/knob");
  EXPECT_EQ(file_error([&] { reader.write("5"); }).code(), EINVAL) << "opened for reading";
  EXPECT_EQ(root.writes(), 3u);
  EXPECT_EQ(tree.get("/knob"), "3");
}

// Writes "1" and then "2", the second one through an open file.
[[noreturn]] void write_twice(const TempTree& tree, std::uint64_t stop_at) {
  Sysroot root(tree.root());
  root.stop_at_write(stop_at);
  root.write("/knob", "1");
  root.open("/knob", Sysroot::Access::read_write).write("2");
  _exit(0);
}

TEST(SysrootDeathTest, IsKilledImmediatelyBeforeTheChosenWrite) {
  const TempTree tree;
  tree.put("/knob", "0");
  EXPECT_EXIT(write_twice(tree, 1), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(tree.get("/knob"), "0");
  EXPECT_EXIT(write_twice(tree, 2), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(tree.get("/knob"), "1");
  EXPECT_EXIT(write_twice(tree, 3), testing::ExitedWithCode(0), "") << "there are two writes only";
  EXPECT_EQ(tree.get("/knob"), "2");
}

TEST(Sysroot, ErrorsNamePathValueAndTheWayOut) {
  const TempTree tree;
  Sysroot root(tree.root());
  const FileError missing = file_error([&] { root.write("/sys/max_freq", "612000000"); });
  EXPECT_EQ(missing.code(), ENOENT);
  EXPECT_EQ(std::string(missing.what()), "cannot write '612000000' to " + tree.root().string() +
                                             "/sys/max_freq: No such file or directory (ENOENT); "
                                             "this kernel or board does not offer it");
  tree.folder("/sys/folder");
  EXPECT_EQ(file_error([&] { root.read("/sys/folder"); }).code(), EISDIR);
  const FileError text = file_error([&] { root.write("/none", std::string(500, 'x')); });
  EXPECT_LT(std::string(text.what()).size(), 300u) << "a long value is cut";
}

// Root may write anything, so the check becomes another user where the test itself is root.
[[noreturn]] void write_without_root(const TempTree& tree) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);
  Sysroot root(tree.root());
  if (root.writable("/sys/max_freq")) _exit(3);
  try {
    root.write("/sys/max_freq", "612000000");
  } catch (const FileError& error) {
    std::fputs(error.what(), stderr);
    _exit(error.code() == EACCES && root.writes() == 0 ? 0 : 4);
  }
  _exit(5);
}

TEST(SysrootDeathTest, WithoutRootAWriteSaysWhatWouldAllowIt) {
  const TempTree tree;
  tree.put("/sys/max_freq", "1300500000\n");
  tree.mode("/sys/max_freq", 0444);
  EXPECT_EXIT(
      write_without_root(tree), testing::ExitedWithCode(0),
      "cannot write '612000000' to .*/sys/max_freq: Permission denied .EACCES.; run as root");
  EXPECT_EQ(tree.get("/sys/max_freq"), "1300500000\n");
}

TEST(DeviceFile, SeesEveryNewValueThroughOneDescriptor) {
  const TempTree tree;
  tree.put("/temp", "47687\n");
  Sysroot root(tree.root());
  DeviceFile file = root.open("/temp");
  EXPECT_EQ(file.read_integer(), 47687);
  tree.put("/temp", "-256000\n");
  EXPECT_EQ(file.read_integer(), -256000);
  EXPECT_EQ(file.read(), "-256000");
}

TEST(DeviceFile, ReadsTheLeadingInteger) {
  const TempTree tree;
  Sysroot root(tree.root());
  struct Case {
    const char* text;
    std::optional<std::int64_t> value;
    int error;
  };
  const Case cases[] = {
      {"4000 ma\n", 4000, 0},
      {"0\n", 0, 0},
      {"  12\n", 12, 0},
      {"9223372036854775807\n", std::numeric_limits<std::int64_t>::max(), 0},
      {"9223372036854775808\n", std::nullopt, ERANGE},
      {"", std::nullopt, ENODATA},
      {"unsupported\n", std::nullopt, EINVAL},
      {"<not counted>", std::nullopt, EINVAL},
  };
  for (const Case& entry : cases) {
    tree.put("/value", entry.text);
    DeviceFile file = root.open("/value");
    EXPECT_EQ(file.try_read_integer(), entry.value) << entry.text;
    EXPECT_EQ(file.last_error(), entry.error) << entry.text;
    if (!entry.value) {
      EXPECT_EQ(file_error([&] { file.read_integer(); }).code(), entry.error) << entry.text;
    }
  }
}

TEST(DeviceFile, QuotesWhatIsNoIntegerAndKeepsTheHintForWrites) {
  const TempTree tree;
  tree.put("/lock", "yes\n");
  Sysroot root(tree.root());
  DeviceFile file = root.open("/lock");
  const auto refusal = [&] { return std::string(file_error([&] { file.read_integer(); }).what()); };
  const std::string path = tree.root().string() + "/lock";
  EXPECT_EQ(refusal(), "cannot read an integer from " + path + ": it reads 'yes'");
  tree.put("/lock", std::string(300, 'x') + "\033[2J");
  EXPECT_EQ(refusal(),
            "cannot read an integer from " + path + ": it reads '" + std::string(64, 'x') + "...'");
  tree.put("/lock", "a\033[2J\nb");
  EXPECT_EQ(refusal(), "cannot read an integer from " + path + ": it reads 'a?[2J?b'");
  tree.put("/lock", "9223372036854775808");
  EXPECT_EQ(refusal(), "cannot read an integer from " + path +
                           ": it reads '9223372036854775808', which is out of range");
  const std::string refused = file_error([&] { file.write("5"); }).what();  // opened for reading
  EXPECT_NE(refused.find("(EINVAL); the value is not one the kernel accepts here"),
            std::string::npos)
      << refused;
}

TEST(DeviceFile, ReadsAtMost4095Bytes) {
  const TempTree tree;
  tree.put("/text", std::string(4095, 'a'));
  Sysroot root(tree.root());
  DeviceFile file = root.open("/text");
  EXPECT_EQ(file.read().size(), 4095u);
  tree.put("/text", std::string(4096, 'a'));
  EXPECT_EQ(file.read().size(), 4095u);
}

TEST(DeviceFile, AMovedFileKeepsItsDescriptorAndTheOldOneReadsNothing) {
  const TempTree tree;
  tree.put("/a", "1\n");
  tree.put("/b", "2\n");
  Sysroot root(tree.root());
  DeviceFile a = root.open("/a");
  DeviceFile moved = std::move(a);
  EXPECT_EQ(moved.read_integer(), 1);
  // NOLINTBEGIN(bugprone-use-after-move, clang-analyzer-cplusplus.Move): that is what is tested
  EXPECT_EQ(a.try_read_integer(), std::nullopt);
  EXPECT_EQ(a.last_error(), EBADF);
  // NOLINTEND(bugprone-use-after-move, clang-analyzer-cplusplus.Move)
  moved = root.open("/b");
  EXPECT_EQ(moved.read_integer(), 2);
  EXPECT_EQ(moved.path(), tree.at("/b"));
}

}  // namespace
}  // namespace gearshift

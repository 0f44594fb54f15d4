#include "bridge/script_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

TEST(ScriptFile, ReadsItsText) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return nil");
  ScriptFile script(tree.at("/policy.lua"));
  EXPECT_EQ(script.text(), "return nil");
  EXPECT_GE(script.descriptor(), 0);
  EXPECT_FALSE(script.take_changes());
}

TEST(ScriptFile, MayBeAbsent) {
  ScriptFile script("");
  EXPECT_EQ(script.text(), "");
  EXPECT_EQ(script.descriptor(), -1);
  EXPECT_FALSE(script.reload());
}

TEST(ScriptFile, NoticesAnEditInPlace) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  ScriptFile script(tree.at("/policy.lua"));
  tree.put("/policy.lua", "return 2");
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
  EXPECT_FALSE(script.take_changes());
}

TEST(ScriptFile, NoticesAFileThatTookItsPlace) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  ScriptFile script(tree.at("/policy.lua"));
  tree.put("/policy.lua.new", "return 2");
  EXPECT_FALSE(script.take_changes());
  std::filesystem::rename(tree.at("/policy.lua.new"), tree.at("/policy.lua"));
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
}

TEST(ScriptFile, NoticesAFolderThatTookThePlaceOfItsOwn) {
  const fakes::TempTree tree;
  tree.put("/now/policy.lua", "return 1");
  tree.put("/new/policy.lua", "return 2");
  ScriptFile script(tree.at("/now/policy.lua"));
  std::filesystem::rename(tree.at("/now"), tree.at("/old"));
  std::filesystem::rename(tree.at("/new"), tree.at("/now"));
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
  tree.put("/now/policy.lua", "return 3");
  EXPECT_TRUE(script.take_changes());
  std::filesystem::remove_all(tree.at("/now"));
  EXPECT_FALSE(script.take_changes());
  tree.put("/now/policy.lua", "return 4");
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 4");
}

TEST(ScriptFile, NoticesAnEditBehindALink) {
  const fakes::TempTree tree;
  tree.put("/home/policy.lua", "return 1");
  tree.put("/etc/other.lua", "");
  std::filesystem::create_symlink(tree.at("/home/policy.lua"), tree.at("/home/link.lua"));
  std::filesystem::create_symlink("../home/link.lua", tree.at("/etc/policy.lua"));
  ScriptFile script(tree.at("/etc/policy.lua"));
  EXPECT_EQ(script.text(), "return 1");
  tree.put("/home/policy.lua", "return 2");
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
  // As vim writes: the file is away for a moment.
  std::filesystem::rename(tree.at("/home/policy.lua"), tree.at("/home/policy.lua~"));
  EXPECT_FALSE(script.take_changes());
  tree.put("/home/policy.lua", "return 3");
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 3");
}

TEST(ScriptFile, FollowsALinkToWhereItLeadsNow) {
  const fakes::TempTree tree;
  tree.put("/one/policy.lua", "return 1");
  tree.put("/two/policy.lua", "return 2");
  tree.put("/etc/other.lua", "");
  const std::filesystem::path link = tree.at("/etc/policy.lua");
  std::filesystem::create_symlink(tree.at("/one/policy.lua"), link);
  ScriptFile script(link);
  std::filesystem::create_symlink(tree.at("/two/policy.lua"), tree.at("/etc/new.lua"));
  std::filesystem::rename(tree.at("/etc/new.lua"), link);
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
  tree.put("/one/policy.lua", "return 4");
  EXPECT_FALSE(script.take_changes()) << "nothing leads there";
  tree.put("/two/policy.lua", "return 3");
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 3");
  // A file in the place of the link.
  tree.put("/etc/new.lua", "return 5");
  std::filesystem::rename(tree.at("/etc/new.lua"), link);
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 5");
  tree.put("/etc/policy.lua", "return 6");
  EXPECT_TRUE(script.take_changes());
}

// All of a folder at once: its files are links through ..data, which another one is renamed to.
TEST(ScriptFile, NoticesAVolumeOfKubernetesThatIsReplaced) {
  const fakes::TempTree tree;
  tree.put("/etc/..one/policy.lua", "return 1");
  std::filesystem::create_directory_symlink("..one", tree.at("/etc/..data"));
  std::filesystem::create_symlink("..data/policy.lua", tree.at("/etc/policy.lua"));
  ScriptFile script(tree.at("/etc/policy.lua"));
  for (const int next : {2, 3}) {
    const std::string folder = ".." + std::to_string(next);
    const std::string text = "return " + std::to_string(next);
    const std::filesystem::path before = std::filesystem::read_symlink(tree.at("/etc/..data"));
    tree.put("/etc/" + folder + "/policy.lua", text);
    std::filesystem::create_directory_symlink(folder, tree.at("/etc/..data_tmp"));
    std::filesystem::rename(tree.at("/etc/..data_tmp"), tree.at("/etc/..data"));
    EXPECT_TRUE(script.take_changes());
    EXPECT_EQ(script.text(), text);
    std::filesystem::remove_all(tree.at("/etc/" + before.string()));
    EXPECT_FALSE(script.take_changes());
    EXPECT_EQ(script.text(), text);
  }
}

TEST(ScriptFile, WaitsForAFolderBehindALinkThatIsGone) {
  const fakes::TempTree tree;
  tree.put("/home/policy.lua", "return 1");
  tree.put("/etc/other.lua", "");
  std::filesystem::create_symlink(tree.at("/home/policy.lua"), tree.at("/etc/policy.lua"));
  ScriptFile script(tree.at("/etc/policy.lua"));
  std::filesystem::remove_all(tree.at("/home"));
  EXPECT_FALSE(script.take_changes());
  EXPECT_EQ(script.text(), "return 1");
  tree.put("/home/policy.lua", "return 2");
  EXPECT_TRUE(script.take_changes());
  tree.put("/home/policy.lua", "return 3");
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 3");
}

TEST(ScriptFile, TakesAWriteOfTheSameTextForNoChange) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  ScriptFile script(tree.at("/policy.lua"));
  tree.put("/policy.lua", "return 1");
  tree.put("/other.lua", "return 3");
  EXPECT_FALSE(script.take_changes());
}

TEST(ScriptFile, KeepsItsTextWhileTheFileIsGoneOrEmpty) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  ScriptFile script(tree.at("/policy.lua"));
  tree.remove("/policy.lua");
  EXPECT_FALSE(script.reload());
  tree.put("/policy.lua", "");
  EXPECT_FALSE(script.take_changes());
  EXPECT_EQ(script.text(), "return 1");
  tree.put("/policy.lua", "return 2");
  EXPECT_TRUE(script.take_changes());
}

TEST(ScriptFile, IsBounded) {
  const fakes::TempTree tree;
  tree.put("/policy.lua", std::string(kMaxScriptBytes, ' '));
  ScriptFile script(tree.at("/policy.lua"));
  EXPECT_EQ(script.text().size(), kMaxScriptBytes);
  tree.put("/large.lua", std::string(kMaxScriptBytes + 1, ' '));
  EXPECT_THROW(ScriptFile(tree.at("/large.lua")), std::runtime_error);
  // Grown while it runs, it becomes a script that says what is wrong when it is run.
  tree.put("/policy.lua", std::string(kMaxScriptBytes + 1, ' '));
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text().substr(0, 6), "error(");
  EXPECT_NE(script.text().find("262144 bytes"), std::string_view::npos);
}

TEST(ScriptFile, NamesTheFileItCannotRead) {
  const fakes::TempTree tree;
  const std::string path = tree.at("/missing.lua");
  try {
    const ScriptFile script(path);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("No such file"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ScriptFile(tree.root()), std::runtime_error);  // a folder
}

TEST(ScriptFile, TellsOnceThatItsFolderIsGone) {
  const fakes::TempTree tree;
  tree.put("/now/policy.lua", "return 1");
  ScriptFile script(tree.at("/now/policy.lua"));
  EXPECT_EQ(script.take_complaint(), "");
  std::filesystem::rename(tree.at("/now"), tree.at("/old"));
  EXPECT_FALSE(script.take_changes());
  EXPECT_NE(script.take_complaint().find("cannot be watched"), std::string::npos);
  EXPECT_FALSE(script.take_changes());
  EXPECT_EQ(script.take_complaint(), "");
}

// As many as this process may have: its descriptors are not to end before the watches do.
void allow_descriptors() {
  constexpr rlimit kMost{1 << 20, 1 << 20};  // fs.nr_open, where nobody has changed that
  rlimit files{};
  if (setrlimit(RLIMIT_NOFILE, &kMost) == 0 || getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

constexpr int kSaysNothing = 2;
constexpr int kFewDescriptors = 3;  // they end before the watches do

// What a child that has no watches left ends with; one that threw would go on with its parent's
// tests.
int exit_code_without_watches() noexcept {
  const fakes::TempTree tree;
  tree.put("/policy.lua", "return 1");
  while (inotify_init1(IN_CLOEXEC) >= 0) continue;
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return kFewDescriptors;
  close(descriptor);
  ScriptFile script(tree.at("/policy.lua"));
  const std::string told = script.take_complaint() + script.take_complaint();
  return told.find("SIGHUP") == std::string::npos ? kSaysNothing : 0;
}

TEST(ScriptFile, TellsThatEditsAreNotSeenWhereTheSystemHasNoWatchesLeft) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become a user whose watches nobody misses";
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobodys = 54322;
    allow_descriptors();
    if (setgid(kNobodys) != 0 || setuid(kNobodys) != 0) _exit(1);
    _exit(exit_code_without_watches());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFewDescriptors) {
    GTEST_SKIP() << "a process has fewer descriptors here than a user has watches";
  }
  EXPECT_EQ(status, 0);
}

// Where root reads it, for its author, who is another user.
class ScriptFileOfAnother : public testing::Test {
 protected:
  static constexpr uid_t kAuthor = 12345;

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root may read what is another's";
    tree.put("/scripts/policy.lua", "return 1");
    give("/scripts/policy.lua", kAuthor);
    tree.put("/shadow", "root:secret");
    tree.mode("/shadow", 0600);
  }
  void give(std::string_view path, uid_t owner) {
    ASSERT_EQ(lchown(tree.at(path).c_str(), owner, static_cast<gid_t>(-1)), 0);
  }
  // What `ln -sf` does.
  void put_link(std::string_view target) {
    tree.remove("/scripts/policy.lua");
    tree.link("/scripts/policy.lua", target);
    give("/scripts/policy.lua", kAuthor);
  }

  const fakes::TempTree tree;
};

TEST_F(ScriptFileOfAnother, IsNotReplacedByWhatItsAuthorMayNotRead) {
  ScriptFile script(tree.at("/scripts/policy.lua"));
  put_link("../shadow");
  EXPECT_FALSE(script.take_changes());
  EXPECT_FALSE(script.reload());
  EXPECT_EQ(script.text(), "return 1");
  const std::string complaint = script.take_complaint();
  EXPECT_NE(complaint.find("user 12345"), std::string::npos) << complaint;
  EXPECT_EQ(complaint.find("secret"), std::string::npos) << complaint;
  tree.remove("/scripts/policy.lua");
  tree.put("/scripts/policy.lua", "return 2");
  give("/scripts/policy.lua", kAuthor);
  EXPECT_TRUE(script.take_changes());
  EXPECT_EQ(script.text(), "return 2");
}

TEST_F(ScriptFileOfAnother, IsNotBegunWithAsALinkToAFileOfRoots) {
  put_link("../shadow");
  try {
    const ScriptFile script(tree.at("/scripts/policy.lua"));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("user 12345"), std::string::npos) << error.what();
  }
}

TEST_F(ScriptFileOfAnother, MayBeALinkToWhatAllMayReadOrOfRoots) {
  tree.link("/policy.lua", "scripts/policy.lua");
  EXPECT_EQ(ScriptFile(tree.at("/policy.lua")).text(), "return 1");
  tree.put("/shipped.lua", "return 3");
  put_link("../shipped.lua");
  EXPECT_EQ(ScriptFile(tree.at("/scripts/policy.lua")).text(), "return 3");
}

// Root's own copy in a folder of another user, who may put something else in its place.
TEST_F(ScriptFileOfAnother, IsNotReplacedByWhatIsKeptFromOthers) {
  give("/scripts/policy.lua", 0);
  ScriptFile script(tree.at("/scripts/policy.lua"));
  put_link("../shadow");
  EXPECT_FALSE(script.take_changes());
  EXPECT_EQ(script.text(), "return 1");
  EXPECT_NE(script.take_complaint(), "");
}

TEST(ScriptFile, DoesNotWaitForAPipe) {
  const fakes::TempTree tree;
  ASSERT_EQ(::mkfifo(tree.at("/policy.lua").c_str(), 0600), 0);
  EXPECT_EQ(ScriptFile(tree.at("/policy.lua")).text(), "");
}

}  // namespace
}  // namespace gearshift

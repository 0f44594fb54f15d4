#include "trace/replace_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

constexpr std::size_t kRoom = 4096;

class ReplaceFileTest : public testing::Test {
 protected:
  // Replaces the file in a process of its own that may write files of kRoom bytes at most; `then`
  // is what the kernel's signal does to it at the first byte too many. Returns its wait status.
  int replace_on_a_full_disk(void (*then)(int)) const {
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGXFSZ, then);
      const rlimit no_core{0, 0};
      const rlimit room{kRoom, kRoom};
      setrlimit(RLIMIT_CORE, &no_core);
      setrlimit(RLIMIT_FSIZE, &room);
      try {
        replace_file(path_, std::string(2 * kRoom, 'n'));
      } catch (const std::runtime_error& error) {
        const bool told = std::string(error.what()).find("File too large") != std::string::npos;
        _exit(told ? 1 : 2);
      }
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  fakes::TempTree tree_;
  const std::filesystem::path path_ = tree_.at("/table.csv");
};

TEST_F(ReplaceFileTest, MakesAFileAndReplacesIt) {
  replace_file(path_, "old");
  EXPECT_EQ(tree_.get("/table.csv"), "old");
  replace_file(path_, "");
  EXPECT_EQ(tree_.get("/table.csv"), "");
  EXPECT_FALSE(std::filesystem::exists(tree_.at("/table.csv.new")));
}

TEST_F(ReplaceFileTest, TellsBeforehandWhatCannotBeWritten) {
  const auto said = [](const std::filesystem::path& path) {
    try {
      check_replaceable(path);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(said(path_), "");
  EXPECT_FALSE(std::filesystem::exists(path_)) << "nothing is written";
  replace_file(path_, "old");
  EXPECT_EQ(said(path_), "");
  EXPECT_EQ(tree_.get("/table.csv"), "old");
  EXPECT_EQ(said("/dev/stdout"), "");
  EXPECT_EQ(said("in_this_folder.csv"), "");
  EXPECT_NE(said(tree_.at("/no/table.csv")).find("/no/table.csv: cannot be written: No such file"),
            std::string::npos);
  EXPECT_NE(said(path_.parent_path()).find("Is a directory"), std::string::npos);
  std::filesystem::create_symlink(tree_.at("/no/table.csv"), tree_.at("/link.csv"));
  EXPECT_NE(said(tree_.at("/link.csv")).find("/link.csv: cannot be written: No such file"),
            std::string::npos)
      << "a link stays, and where it leads nothing can be made";
  EXPECT_NE(said(path_ / "x").find("table.csv/x: cannot be written: Not a directory"),
            std::string::npos);
}

TEST_F(ReplaceFileTest, AReaderThatHasTheOldFileOpenReadsItToItsEnd) {
  replace_file(path_, "the old text");
  std::ifstream reader(path_, std::ios::binary);
  std::string text(3, '\0');
  reader.read(text.data(), 3);
  replace_file(path_, "THE NEW TEXT");
  text.append(std::istreambuf_iterator<char>(reader), {});
  EXPECT_EQ(text, "the old text");
}

TEST_F(ReplaceFileTest, AFullDiskKeepsTheOldFileAndIsTold) {
  tree_.put("/table.csv", "old");
  const int status = replace_on_a_full_disk(SIG_IGN);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(tree_.get("/table.csv"), "old");
  EXPECT_FALSE(std::filesystem::exists(tree_.at("/table.csv.new"))) << "its room is needed";
}

TEST_F(ReplaceFileTest, AKillInTheMiddleKeepsTheOldFileAndTheNextWriteSucceeds) {
  tree_.put("/table.csv", "old");
  const int status = replace_on_a_full_disk(SIG_DFL);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(std::filesystem::file_size(tree_.at("/table.csv.new")), kRoom) << "half of it";
  EXPECT_EQ(tree_.get("/table.csv"), "old");
  replace_file(path_, "new");
  EXPECT_EQ(tree_.get("/table.csv"), "new");
  EXPECT_EQ(std::filesystem::file_size(tree_.at("/table.csv.new")), kRoom) << "whose, none can say";
}

TEST_F(ReplaceFileTest, AWriterThatThrowsKeepsTheOldFile) {
  tree_.put("/table.csv", "old");
  const auto write = [](std::ostream& out) {
    out << "half";
    throw std::out_of_range("no more");
  };
  EXPECT_THROW(replace_file(path_, write), std::out_of_range);
  EXPECT_EQ(tree_.get("/table.csv"), "old");
  EXPECT_FALSE(std::filesystem::exists(tree_.at("/table.csv.new")));
}

TEST_F(ReplaceFileTest, ALinkStaysAndWhatItLeadsToIsReplaced) {
  tree_.put("/table.csv", "old");
  const std::filesystem::path link = tree_.at("/link.csv");
  std::filesystem::create_symlink("table.csv", link);
  replace_file(link, "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(tree_.get("/table.csv"), "new");
}

TEST_F(ReplaceFileTest, ALinkToNothingYetStaysAndTheFileIsMadeWhereItLeads) {
  tree_.folder("/ssd");
  std::filesystem::create_symlink("ssd/table.csv", tree_.at("/middle.csv"));
  std::filesystem::create_symlink(tree_.at("/middle.csv"), tree_.at("/link.csv"));
  EXPECT_EQ(behind_links(tree_.at("/link.csv")), tree_.at("/ssd/table.csv"));
  EXPECT_EQ(behind_links("plain.csv"), "plain.csv");
  replace_file(tree_.at("/link.csv"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(tree_.at("/link.csv")));
  EXPECT_TRUE(std::filesystem::is_symlink(tree_.at("/middle.csv")));
  EXPECT_EQ(tree_.get("/ssd/table.csv"), "new");
}

TEST_F(ReplaceFileTest, LinksInARingAreNoFile) {
  std::filesystem::create_symlink("b.csv", tree_.at("/a.csv"));
  std::filesystem::create_symlink("a.csv", tree_.at("/b.csv"));
  EXPECT_THROW(replace_file(tree_.at("/a.csv"), "new"), std::runtime_error);
  EXPECT_TRUE(std::filesystem::is_symlink(tree_.at("/a.csv")));
}

// In a folder that all may write, it would choose which of root's files is replaced.
TEST_F(ReplaceFileTest, AnotherUsersLinkIsNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give links away";
  tree_.put("/victim", "dear");
  std::filesystem::create_symlink("victim", tree_.at("/planted.csv"));
  std::filesystem::create_symlink("planted.csv", tree_.at("/own.csv"));
  ASSERT_EQ(lchown(tree_.at("/planted.csv").c_str(), 12345, 12345), 0);
  for (const char* link : {"/planted.csv", "/own.csv"}) {
    for (const bool written : {true, false}) {
      try {
        if (written) replace_file(tree_.at(link), "new");
        if (!written) check_replaceable(tree_.at(link));
        FAIL() << link;
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(std::string(error.what()),
                  tree_.at(link).string() + ": cannot be written: the link " +
                      tree_.at("/planted.csv").string() +
                      " belongs to user 12345, who may let it lead anywhere; name the file itself");
      }
    }
  }
  EXPECT_EQ(tree_.get("/victim"), "dear");
}

// Whoever may write the folder may give the name to another file.
TEST_F(ReplaceFileTest, WhatIsPutAtTheNamesMeanwhileIsNotWrittenTo) {
  tree_.put("/victim", "dear");
  replace_file(path_, [this](std::ostream& out) {
    std::filesystem::create_symlink("victim", path_);
    out << "new";
  });
  EXPECT_EQ(tree_.get("/victim"), "dear");
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(tree_.get("/table.csv"), "new");
}

TEST_F(ReplaceFileTest, AFileOfTheNameThatIsWrittenFirstIsLeftAlone) {
  tree_.put("/table.csv", "old");
  tree_.put("/table.csv.new", "somebody else's");
  replace_file(path_, "new");
  EXPECT_EQ(tree_.get("/table.csv"), "new");
  const auto write = [](std::ostream&) { throw std::out_of_range("no more"); };
  EXPECT_THROW(replace_file(path_, write), std::out_of_range);
  EXPECT_EQ(tree_.get("/table.csv.new"), "somebody else's");
  EXPECT_FALSE(std::filesystem::exists(tree_.at("/table.csv.new1")));
}

TEST_F(ReplaceFileTest, TheModeStaysWhatItWasAndANewFileHasTheUsualOne) {
  const auto mode = [&] {
    struct stat found {};
    EXPECT_EQ(stat(path_.c_str(), &found), 0);
    return found.st_mode & 07777;
  };
  const mode_t before = umask(022);
  replace_file(path_, "old");
  EXPECT_EQ(mode(), 0644u);
  for (const mode_t kept : {0600u, 0444u, 0666u}) {
    ASSERT_EQ(chmod(path_.c_str(), kept), 0);
    replace_file(path_, "new");
    EXPECT_EQ(mode(), kept);
  }
  umask(before);
}

// As root a rename would put a file in the place of /dev/stdout.
TEST_F(ReplaceFileTest, APipeIsWrittenToAndStaysOne) {
  const std::filesystem::path pipe = tree_.at("/pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  replace_file(pipe, "text");
  char text[8]{};
  EXPECT_EQ(read(reader, text, sizeof text), 4);
  EXPECT_STREQ(text, "text");
  close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(ReplaceFileTest, NamesTheFileAndTheReason) {
  for (const char* path : {"/no/table.csv", "/folder"}) {
    tree_.folder("/folder/full");
    try {
      replace_file(tree_.at(path), "text");
      FAIL() << path;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).find(tree_.at(path).string() + ": cannot be written: "),
                0u)
          << error.what();
    }
  }
  EXPECT_FALSE(std::filesystem::exists(tree_.at("/folder.new")));
}

}  // namespace
}  // namespace gearshift

#include "cli/recording_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/record_flag.h"
#include "cli/recording.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

constexpr std::int64_t kStarted_ms = 1'795'930'157'500;  // 2026-11-29 05:29:17 UTC
constexpr unsigned kAnother = 12345;

class RecordingFolderTest : public testing::Test {
 protected:
  // What is said where it is refused, "" where it is not.
  std::string refused(const RecordFlag& flag) const {
    try {
      check_record_flag(flag);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
  // Begins a recording as a run does, and ends it; its name.
  std::string record(std::uint32_t keep, std::int64_t started_ms = kStarted_ms) const {
    const std::string path = new_recording_in(folder_, keep, started_ms);
    RecordingWriter(path, {}).finish();
    return std::filesystem::path(path).filename().string();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tree_.at("/recordings"))) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  fakes::TempTree tree_;
  const std::string folder_ = tree_.at("/recordings").string() + "/";
};

TEST_F(RecordingFolderTest, IsMadeAndARecordingInItIsNamedByItsStart) {
  EXPECT_TRUE(names_folder(folder_));
  EXPECT_FALSE(names_folder(tree_.at("/recordings").string()));
  EXPECT_EQ(refused({folder_}), "");
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "a check makes nothing";
  EXPECT_EQ(record(0), "20261129T052917Z.db");
  EXPECT_EQ(record(0), "20261129T052917Z-2.db") << "in the same second";
  tree_.put("/recordings/20261129T052917Z-3.db-wal", "of a run whose file was removed");
  EXPECT_EQ(record(0), "20261129T052917Z-4.db");
  EXPECT_EQ(record(0, kStarted_ms + 1000), "20261129T052918Z.db");
}

TEST_F(RecordingFolderTest, WhereNoneCanBeMadeIsRefusedWithTheWayOut) {
  tree_.put("/recordings", "a file");
  EXPECT_NE(refused({folder_}).find("is no folder; leave out the slash"), std::string::npos);
  tree_.remove("/recordings");
  EXPECT_NE(refused({folder_ + "deep/"}).find("No such file or directory"), std::string::npos);
  EXPECT_NE(refused({folder_, true}).find("leave it out"), std::string::npos) << "--overwrite";
  EXPECT_NE(refused({tree_.at("/run.db"), false, 3}).find("end its name with a slash"),
            std::string::npos);
  tree_.folder("/recordings");
  EXPECT_NE(refused({tree_.at("/recordings")}).find("of a folder with a slash"), std::string::npos);
}

TEST_F(RecordingFolderTest, TheOldestGoWithWhatIsBesideThem) {
  for (int i = 0; i < 12; ++i) record(0);  // -10 comes behind -9
  tree_.put("/recordings/20261129T052917Z.db-wal", "of a run that was killed");
  tree_.put("/recordings/20261129T052917Z.db-shm", "");
  EXPECT_EQ(record(3, kStarted_ms + 1000), "20261129T052918Z.db");
  const std::vector<std::string> left = {"20261129T052917Z-11.db", "20261129T052917Z-12.db",
                                         "20261129T052918Z.db"};
  EXPECT_EQ(names(), left);
  EXPECT_EQ(record(1, kStarted_ms), "20261129T052917Z-13.db") << "not the name of one that goes";
  EXPECT_EQ(names(), std::vector<std::string>{"20261129T052917Z-13.db"});
}

TEST_F(RecordingFolderTest, WhatIsNoRecordingOfThisUsersStays) {
  record(0);
  tree_.put("/recordings/notes.txt", "mine");
  tree_.put("/recordings/20250101T000000Z.db", "no database");
  tree_.put("/recordings/20250101T000000Z-x.db", "another name");
  std::filesystem::copy_file(tree_.at("/recordings/20261129T052917Z.db"),
                             tree_.at("/recordings/day.db"));
  std::filesystem::rename(tree_.at("/recordings/20261129T052917Z.db"), tree_.at("/elsewhere.db"));
  std::filesystem::create_symlink(tree_.at("/elsewhere.db"),
                                  tree_.at("/recordings/20250102T000000Z.db"));
  std::vector<std::string> stay = names();
  stay.push_back(record(1));
  std::sort(stay.begin(), stay.end());
  EXPECT_EQ(names(), stay);
  EXPECT_TRUE(std::filesystem::exists(tree_.at("/elsewhere.db")));
}

TEST_F(RecordingFolderTest, WhatIsAnotherUsersStays) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string others = record(0);
  ASSERT_EQ(chown(tree_.at("/recordings/" + others).c_str(), kAnother, kAnother), 0);
  record(1, kStarted_ms + 1000);
  EXPECT_EQ(names().size(), 2U);
}

// A run that goes on holds a lock, as a process of its own.
TEST_F(RecordingFolderTest, WhatIsStillWrittenStaysAndAKilledRunsGoes) {
  tree_.folder("/recordings");
  int made[2], end[2];
  ASSERT_EQ(pipe(made) + pipe(end), 0);
  const pid_t writer = fork();
  char byte = 0;
  if (writer == 0) {
    const RecordingWriter recording(new_recording_in(folder_, 0, kStarted_ms), {});
    _exit(write(made[1], &byte, 1) == 1 && read(end[0], &byte, 1) == 1 ? 0 : 1);
  }
  ASSERT_EQ(read(made[0], &byte, 1), 1);
  record(1, kStarted_ms + 1000);
  EXPECT_EQ(names().size(), 4U) << "with -wal and -shm";
  ASSERT_EQ(write(end[1], &byte, 1), 1);
  ASSERT_EQ(waitpid(writer, nullptr, 0), writer);
  for (const int descriptor : {made[0], made[1], end[0], end[1]}) close(descriptor);
  record(1, kStarted_ms + 2000);
  EXPECT_EQ(names(), std::vector<std::string>{"20261129T052919Z.db"});
}

TEST_F(RecordingFolderTest, NothingIsRemovedWhereOthersMayWriteNorBehindTheirLinks) {
  record(0);
  tree_.mode("/recordings", 01777);
  EXPECT_NE(refused({folder_, false, 1}).find("that not all may write"), std::string::npos);
  EXPECT_THROW(new_recording_in(folder_, 1, kStarted_ms), std::invalid_argument);
  EXPECT_EQ(refused({folder_}), "") << "one more may be made there";
  tree_.mode("/recordings", 0755);
  std::filesystem::create_symlink(tree_.at("/recordings"), tree_.at("/link"));
  const std::string link = tree_.at("/link").string() + "/";
  EXPECT_EQ(refused({link, false, 1}), "") << "this user's own";
  if (geteuid() != 0) return;
  ASSERT_EQ(lchown(tree_.at("/link").c_str(), kAnother, kAnother), 0);
  EXPECT_NE(refused({link}).find("belongs to user 12345"), std::string::npos);
  EXPECT_THROW(new_recording_in(link, 1, kStarted_ms), std::runtime_error);
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(RecordingFolderTest, OfRootItIsForItsOwnerAloneWhoCalledSudo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  setenv("SUDO_UID", "12345", 1);
  setenv("SUDO_GID", "12346", 1);
  record(2);
  record(2);
  unsetenv("SUDO_UID");
  unsetenv("SUDO_GID");
  struct stat made {};
  ASSERT_EQ(stat(folder_.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0700U);
  EXPECT_EQ(made.st_uid, kAnother);
  EXPECT_EQ(made.st_gid, 12346U);
}

}  // namespace
}  // namespace gearshift

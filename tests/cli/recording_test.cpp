#include "cli/recording.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

constexpr unsigned kAnotherUser = 12345;

class StartRecordingTest : public testing::Test {
 protected:
  // What is said where it is refused, "" where it is made.
  std::string refused(bool overwrites) const {
    try {
      start_recording({day_, overwrites}, {})->finish();
    } catch (const std::runtime_error& error) {
      return error.what();
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
  // What another user puts there: a link to the victim, and one to nothing.
  void plant(const std::filesystem::path& name) const {
    std::filesystem::create_symlink(victim_, name);
    if (geteuid() != 0) return;
    EXPECT_EQ(lchown(name.c_str(), kAnotherUser, kAnotherUser), 0);
  }

  fakes::TempTree tree_;
  const std::string day_ = tree_.at("/sticky/day.db");
  const std::string victim_ = tree_.at("/root/victim");
};

TEST_F(StartRecordingTest, WhatIsPutThereSinceTheFlagWasCheckedIsNotFollowedNorRemoved) {
  tree_.put("/root/victim", "dear");
  tree_.put("/root/victim-wal", "dear");
  tree_.folder("/sticky");
  check_record_flag({day_});
  plant(day_);
  EXPECT_NE(refused(false).find(day_), std::string::npos) << refused(false);
  EXPECT_EQ(tree_.get("/root/victim"), "dear");
  EXPECT_EQ(tree_.get("/root/victim-wal"), "dear");
}

TEST_F(StartRecordingTest, AnotherUsersLinkChoosesNoFileToOverwrite) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give links away";
  tree_.put("/root/victim", "dear");
  tree_.folder("/sticky");
  check_record_flag({day_, true});
  plant(day_);
  const std::string why = refused(true);
  EXPECT_NE(why.find("--record " + day_), std::string::npos) << why;
  EXPECT_NE(why.find("belongs to user 12345"), std::string::npos) << why;
  EXPECT_EQ(tree_.get("/root/victim"), "dear");
  std::filesystem::remove(victim_);
  EXPECT_NE(refused(true), "");
  EXPECT_FALSE(std::filesystem::exists(victim_)) << "nor one to make";
}

TEST_F(StartRecordingTest, ALinkOfTheUsersOwnIsFollowed) {
  tree_.put("/root/victim", "an older recording");
  tree_.folder("/sticky");
  std::filesystem::create_symlink(victim_, day_);
  EXPECT_EQ(refused(true), "");
  EXPECT_TRUE(std::filesystem::is_symlink(day_));
  EXPECT_TRUE(tree_.get("/root/victim").starts_with("SQLite format 3"));
}

TEST_F(StartRecordingTest, OfRootItIsForItsOwnerAloneWhoCalledSudo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  tree_.folder("/sticky");
  struct stat made {};
  EXPECT_EQ(refused(false), "");
  ASSERT_EQ(stat(day_.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600U);
  EXPECT_EQ(made.st_uid, 0U);
  setenv("SUDO_UID", "12345", 1);
  setenv("SUDO_GID", "12346", 1);
  EXPECT_EQ(refused(true), "");
  unsetenv("SUDO_UID");
  unsetenv("SUDO_GID");
  ASSERT_EQ(stat(day_.c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600U);
  EXPECT_EQ(made.st_uid, kAnotherUser);
  EXPECT_EQ(made.st_gid, 12346U);
}

}  // namespace
}  // namespace gearshift

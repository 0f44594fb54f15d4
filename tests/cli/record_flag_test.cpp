#include "cli/record_flag.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace gearshift {
namespace {

std::string refused(const std::string& path, bool overwrites) {
  try {
    check_record_flag({path, overwrites});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(RecordFlag, ReplacesAFileWhereAskedToAndNothingElseEver) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "record_flag";
  std::filesystem::create_directories(folder);
  const std::string file = folder / "run.db";
  std::filesystem::remove(file);
  EXPECT_EQ(refused(file, false), "");
  std::ofstream(file) << "before";
  EXPECT_NE(refused(file, false).find("--overwrite"), std::string::npos);
  EXPECT_EQ(refused(file, true), "");
  for (const std::string& other : {folder.string(), std::string("/dev/null")}) {
    for (const bool overwrites : {false, true}) {
      EXPECT_NE(refused(other, overwrites).find("is no file"), std::string::npos) << other;
    }
  }
  std::ofstream(file) << "no folder";
  try {
    check_record_flag({file + "/x.db", true});
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("x.db: cannot be written: Not a directory"),
              std::string::npos)
        << error.what();
  }
  std::filesystem::remove_all(folder);
}

TEST(RecordFlag, LeavesWhatAKilledRunLeftBesideTheName) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "record_rest";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "ssd");
  std::filesystem::create_symlink("ssd/day.db", folder / "link.db");
  for (const char* rest : {"-wal", "-shm", "-journal"}) {
    const std::string file = (folder / "ssd/day.db").string() + rest;
    std::ofstream(file) << "rows";
    for (const std::filesystem::path& path : {folder / "ssd/day.db", folder / "link.db"}) {
      EXPECT_NE(refused(path, false).find(file + " is there already"), std::string::npos) << path;
      EXPECT_EQ(refused(path, true), "") << path;
    }
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    EXPECT_NE(refused(folder / "ssd/day.db", true).find("is no file"), std::string::npos);
    std::filesystem::remove(file);
  }
  EXPECT_EQ(refused(folder / "link.db", false), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gearshift

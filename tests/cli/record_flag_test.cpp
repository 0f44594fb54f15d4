#include "cli/record_flag.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace gearshift {
namespace {

std::string refused(const std::string& path, bool overwrites) {
  try {
    check_record_flag(path, overwrites);
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
  std::filesystem::remove_all(folder);
}

TEST(OutputFlag, IsNotTheFileThatIsReadByAnyName) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "output_flag";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string file = folder / "run.db";
  std::ofstream(file) << "measured";
  std::filesystem::create_symlink(file, folder / "link.csv");
  std::filesystem::create_hard_link(file, folder / "hard.csv");
  for (const std::string& same : {file, (folder / "." / "run.db").string(),
                                  (folder / "link.csv").string(), (folder / "hard.csv").string()}) {
    EXPECT_THROW(check_output_flag(same, file), std::invalid_argument) << same;
  }
  EXPECT_NO_THROW(check_output_flag("", file));
  EXPECT_NO_THROW(check_output_flag(folder / "new.csv", file));
  EXPECT_NO_THROW(check_output_flag(file, folder / "missing.db"));
  EXPECT_NO_THROW(check_output_flag("/dev/null", "/dev/null")) << "a terminal may be both";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gearshift

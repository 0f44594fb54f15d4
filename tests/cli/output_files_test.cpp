#include "cli/output_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace gearshift {
namespace {

std::string refused(const CommandFiles& files) {
  try {
    files.check();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

class OutputFilesTest : public testing::Test {
 protected:
  OutputFilesTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(file_) << "measured";
  }
  ~OutputFilesTest() override { std::filesystem::remove_all(folder_); }

  // What is said of `-o output` where `--trace input` is read.
  static std::string over(const std::string& output, const std::string& input) {
    CommandFiles files;
    files.reads_recording("--trace", input);
    files.writes("-o", output);
    return refused(files);
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "output_files";
  const std::string file_ = folder_ / "run.db";
};

TEST_F(OutputFilesTest, NoneIsAFileThatIsReadByAnyName) {
  std::filesystem::create_symlink(file_, folder_ / "link.csv");
  std::filesystem::create_hard_link(file_, folder_ / "hard.csv");
  for (const std::string& same :
       {file_, (folder_ / "." / "run.db").string(), (folder_ / "link.csv").string(),
        (folder_ / "hard.csv").string()}) {
    EXPECT_EQ(over(same, file_), "-o " + same + ": is the file that is read, --trace " + file_ +
                                     ", and would be lost; give another name");
  }
  std::ofstream(file_ + "-wal") << "of a killed run";
  EXPECT_NE(over(file_ + "-wal", file_), "");
  EXPECT_EQ(over("", file_), "");
  EXPECT_EQ(over(folder_ / "new.csv", file_), "");
  EXPECT_EQ(over("/dev/null", "/dev/null"), "") << "a terminal may be both";
}

TEST_F(OutputFilesTest, NoneIsAnotherOneThoughNoneIsThereYet) {
  std::filesystem::create_symlink("o.json", folder_ / "link.json");
  const std::string file = folder_ / "o.json";
  for (const std::string& same :
       {file, (folder_ / "link.json").string(), (folder_ / "." / "o.json").string()}) {
    CommandFiles files;
    files.writes("--json", file);
    files.writes("--csv", same);
    EXPECT_EQ(refused(files), "--csv " + same + ": is the file that is written too, --json " +
                                  file + ", and one of the two would be lost; give another name");
  }
  CommandFiles relative;
  relative.writes("--json", "o.json");
  relative.writes("--csv", "./o.json");
  EXPECT_NE(refused(relative), "") << "in this folder";
  CommandFiles others;
  others.writes("--json", file);
  others.writes("--csv", folder_ / "o.csv");
  others.writes("--html", "/dev/null");
  others.writes("--results", "/dev/null");
  EXPECT_EQ(refused(others), "");
}

TEST_F(OutputFilesTest, ARecordingIsMoreThanOneFile) {
  CommandFiles files;
  files.writes("--log", folder_ / "day.db-wal");
  files.writes_recording("--record", folder_ / "day.db");
  EXPECT_NE(refused(files).find("day.db-wal: is the file that is written too"), std::string::npos);
}

TEST_F(OutputFilesTest, StandardOutputIsForOne) {
  CommandFiles files;
  files.writes("--json", "-");
  files.writes("--html", "o.html");
  EXPECT_EQ(refused(files), "");
  files.writes("--csv", "/dev/stdout");
  EXPECT_NE(refused(files).find("--csv /dev/stdout: is the file that is written too, --json -"),
            std::string::npos);
  CommandFiles others;
  std::filesystem::create_symlink("new.db", folder_ / "link.db");
  others.writes_recording("--record", folder_ / "link.db");
  EXPECT_EQ(refused(others), "");
  others.writes_recording("--record", "-");
  EXPECT_EQ(refused(others),
            "--record -: cannot be standard output; name a file, one of that name as ./-");
}

TEST_F(OutputFilesTest, AFlagThatNamesAFileAmongOtherThingsReadsIt) {
  const auto said = [&](const std::string& text, const std::string& word, char end) {
    CommandFiles files;
    files.reads_named("--arrivals", text, word, end);
    files.writes("--log", file_);
    return refused(files);
  };
  EXPECT_NE(said("trace:" + file_ + ",60", "trace:", ','), "");
  EXPECT_NE(said("workload:" + file_ + "@5s", "workload:", '@'), "");
  EXPECT_NE(said("workload:" + file_, "workload:", '@'), "");
  EXPECT_EQ(said("poisson:60", "trace:", ','), "");
}

TEST_F(OutputFilesTest, ABuiltInBoardIsNoFile) {
  std::filesystem::current_path(folder_);
  for (const char* const name : {"auto", "jetson-agx-orin", "my.toml"}) {
    std::ofstream(std::string(name)) << "something";
    CommandFiles files;
    files.reads_board("--board", name);
    files.writes("-o", name);
    EXPECT_EQ(refused(files).empty(), std::string(name) != "my.toml") << name;
  }
  std::filesystem::current_path(testing::TempDir());
}

}  // namespace
}  // namespace gearshift

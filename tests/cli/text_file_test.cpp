#include "cli/text_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gearshift {
namespace {

TEST(TextFile, ReadsAFileWholeAndTakesAFolderForNone) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "gearshift_text_file";
  std::filesystem::create_directories(folder);
  const std::string file = folder / "some.toml";
  std::ofstream(file, std::ios::binary) << "power = \"20W\"\r\n\n";
  EXPECT_EQ(read_text_file(file), "power = \"20W\"\r\n\n");
  EXPECT_EQ(read_text_file(folder), std::nullopt) << "it would read as an empty file: no cap";
  EXPECT_EQ(read_text_file(folder / "none.toml"), std::nullopt);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gearshift

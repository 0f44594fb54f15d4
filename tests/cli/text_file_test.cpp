#include "cli/text_file.h"

#include <gtest/gtest.h>

#include <cerrno>
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
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(read_text_file(folder / "none.toml"), std::nullopt);
  EXPECT_EQ(errno, ENOENT);
  std::filesystem::remove_all(folder);
}

TEST(TextFile, WhatCannotBeReadToItsEndIsNoText) {
  EXPECT_EQ(read_text_file("/proc/self/mem"), std::nullopt) << "a cap may have stood there";
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(read_text_file("/dev/zero"), std::nullopt);
  EXPECT_EQ(errno, EFBIG);
}

}  // namespace
}  // namespace gearshift

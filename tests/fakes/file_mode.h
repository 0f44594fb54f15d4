// The permission bits of a file that a program under test made.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace gearshift::fakes {

// Of the file itself, where it is a link.
inline unsigned mode_of(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777U;
}

}  // namespace gearshift::fakes

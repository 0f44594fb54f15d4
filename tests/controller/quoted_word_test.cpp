#include "controller/quoted_word.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

TEST(QuotedWord, IsReadByAShellAsItWas) {
  EXPECT_EQ(quoted_word("10:50:1"), "10:50:1");
  EXPECT_EQ(quoted_word("../data/p-1.csv"), "../data/p-1.csv");
  EXPECT_EQ(quoted_word("cpu_cores=4,8"), "cpu_cores=4,8");
  EXPECT_EQ(quoted_word("my profiles/p.csv"), "'my profiles/p.csv'");
  EXPECT_EQ(quoted_word("a'b/p.csv"), "'a'\\''b/p.csv'");
  EXPECT_EQ(quoted_word("$HOME"), "'$HOME'");
  EXPECT_EQ(quoted_word("~/p.csv"), "'~/p.csv'") << "the shell had put the folder in its place";
  EXPECT_EQ(quoted_word("a\nb"), "'a\nb'");
  EXPECT_EQ(quoted_word(""), "''");
}

}  // namespace
}  // namespace gearshift

#include "controller/process_status.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

TEST(ProcessStatus, TellsTheUserThatIsBothRealAndEffective) {
  EXPECT_EQ(user_in_status("Name:\ttrainer\nUid:\t1000\t1000\t0\t1000\nGid:\t1\n"), 1000u);
  EXPECT_EQ(user_in_status("Name:\ttrainer\nUid:\t0\t0\t0\t0"), 0u);
  EXPECT_EQ(user_in_status("Name:\tsudo\nUid:\t1000\t0\t0\t0\n"), std::nullopt);
  EXPECT_EQ(user_in_status("Name:\tnfsd\nUid:\t0\t1000\t0\t0\n"), std::nullopt);
}

TEST(ProcessStatus, TellsNobodyWhereTheTextDoesNot) {
  for (const char* const text : {"", "Uid:\t1000\t1000\n", "\nUid:", "\nUid:\t1000\nGid:\t7\n",
                                 "\nUid:\t99999999999\t99999999999\n", "\nUid:\t-1\t-1\n"}) {
    EXPECT_EQ(user_in_status(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace gearshift

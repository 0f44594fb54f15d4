#include "cli/recording_end.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

TEST(RecordingEnd, IsToldWhereItIsNotTheRuns) {
  EXPECT_EQ(recording_end_text("complete"), "it is complete");
  EXPECT_EQ(recording_end_text("database or disk is full"),
            "it ended before the run: database or disk is full");
  EXPECT_EQ(recording_end_text({}), "it has no end: the run was killed, or goes on");
  EXPECT_TRUE(is_complete("complete"));
  EXPECT_FALSE(is_complete("database or disk is full"));
  EXPECT_FALSE(is_complete({}));
}

}  // namespace
}  // namespace gearshift

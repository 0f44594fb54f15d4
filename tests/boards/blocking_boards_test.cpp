// Boards whose power monitors are waited for.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "boards/board_description.h"
#include "tests/fakes/built_in_board.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

TEST(BlockingBoards, JetPack5DiffersInItsGpuTableAndItsBlockingReads) {
  const BoardDescription* board = &built_in_board("jetson-agx-orin-jetpack5");
  EXPECT_EQ(board->l4t_majors, (std::vector<int>{34, 35}));
  EXPECT_EQ(board->knobs[2].knob.values.size(), 13u);
  EXPECT_EQ(board->knobs[2].knob.values.front(), 114'750);
  EXPECT_TRUE(board->power.reads_block);
  EXPECT_GT(board->power.stale_after, built_in_board("jetson-agx-orin").power.stale_after);
}

TEST(BlockingBoards, RailsThatAreReadOneAfterTheOtherAddUpToNoMeanOfOneWindow) {
  const PowerDescription& orin = built_in_board("jetson-agx-orin-jetpack5").power;
  EXPECT_EQ(orin.window, milliseconds(430));
  EXPECT_EQ(orin.judged_over, milliseconds(3 * 430));
  EXPECT_EQ(orin.averaging, milliseconds(0));
  EXPECT_EQ(built_in_board("jetson-agx-xavier").power.judged_over, milliseconds(6 * 430));
  for (const char* one_rail : {"jetson-xavier-nx", "jetson-orin-nano", "jetson-agx-orin"}) {
    const PowerDescription& power = built_in_board(one_rail).power;
    EXPECT_EQ(power.judged_over, milliseconds(430)) << one_rail;
    EXPECT_EQ(power.averaging, milliseconds(430)) << one_rail;
  }
}

}  // namespace
}  // namespace gearshift

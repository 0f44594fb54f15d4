#include "boards/board_model.h"

#include <gtest/gtest.h>

#include "tests/fakes/built_in_board.h"

namespace gearshift {
namespace {

TEST(BoardModel, HasTheBoardsParametersOfEachKind) {
  const BoardDescription* board = &built_in_board("orin_agx");
  const std::optional<BoardModel> model = board_model(board);
  ASSERT_TRUE(model.has_value());
  for (const Kind kind : {Kind::train, Kind::infer}) {
    EXPECT_EQ(model->parameters[index(kind)].p0, board->parameters(kind).p0);
    EXPECT_EQ(model->parameters[index(kind)].kap, board->parameters(kind).kap);
  }
  EXPECT_EQ(model->highest.cpu_cores, 12);
  EXPECT_DOUBLE_EQ(model->highest.gpu_ghz, 1.3005);
}

TEST(BoardModel, IsFoundUnderEveryNameOfTheBoard) {
  for (const char* name : {"jetson-agx-orin", "orin_agx"}) {
    const std::optional<BoardModel> model = built_in_board_model(name);
    ASSERT_TRUE(model.has_value()) << name;
    EXPECT_TRUE(model->is_called("jetson-agx-orin"));
    EXPECT_TRUE(model->is_called("orin_agx"));
    EXPECT_FALSE(model->is_called("jetson-nano"));
  }
}

TEST(BoardModel, IsAbsentWithoutABoardOrAModelOfIt) {
  EXPECT_FALSE(board_model(nullptr).has_value());
  EXPECT_FALSE(built_in_board_model("no such board").has_value());
  EXPECT_FALSE(built_in_board_model("host").has_value());
}

}  // namespace
}  // namespace gearshift

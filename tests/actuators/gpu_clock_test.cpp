#include <gtest/gtest.h>

#include <string>

#include "actuators/knob_control.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

// devfreq takes 0 for "no limit"; what is less than a kHz is 0 too.
TEST(GpuClock, WhatIsNoClockInItsTableIsNoValue) {
  const DirectoryBoard board;
  const KnobDescription description = board.description().knobs[2];
  Sysroot root(board.root());
  std::string finding;
  const auto values = [&](const std::string& table) {
    board.put(DirectoryBoard::gpu("available_frequencies"), table);
    return open_knob(description, root, finding)->knob().values;
  };
  EXPECT_EQ(values("0 999 306000000 306000001 1300500000 20000001000"),
            (std::vector<std::int64_t>{306000, 1300500}));
  EXPECT_NE(finding.find("no clock"), std::string::npos) << finding;
  EXPECT_EQ(values("0"), description.knob.values) << "the board file's";
  EXPECT_EQ(values("306000000"), std::vector<std::int64_t>{306000});
  EXPECT_EQ(finding.find("no clock"), std::string::npos) << finding;
}

}  // namespace
}  // namespace gearshift

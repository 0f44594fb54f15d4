#include "evaluation/sub_grid.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

TEST(SubGrid, KeepsTheCellsOfTheValuesThatStay) {
  const Profile whole = small_profile();
  KnobSpace kept = whole.knobs();
  kept.knobs[0].values = {8};
  kept.knobs[1].values = {306'000, 1'300'500};
  const Profile part = sub_grid(whole, kept);
  EXPECT_EQ(part.workload, "lenet");
  ASSERT_EQ(part.cells().size(), 2u);
  EXPECT_DOUBLE_EQ(part.cells()[0].power_w, 18);
  EXPECT_DOUBLE_EQ(part.cells()[1].power_w, 34);
  EXPECT_EQ(part.knobs().mode_count(), 2u);
}

TEST(SubGrid, RefusesAGridWithoutCells) {
  KnobSpace kept = small_profile().knobs();
  kept.knobs[0].values = {12};
  EXPECT_THROW(sub_grid(small_profile(), kept), std::runtime_error);
}

}  // namespace
}  // namespace gearshift

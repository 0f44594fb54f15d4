#include "evaluation/sub_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::vector<KeptValues>& kept) {
  try {
    sub_grid(small_profile(), kept);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(SubGrid, KeepsTheCellsOfTheValuesNamed) {
  const std::vector<KeptValues> kept = {{"gpu_mhz", {1'300'500, 306'000}}, {"cpu_cores", {8}}};
  const Profile part = sub_grid(small_profile(), kept);
  EXPECT_EQ(part.workload, "lenet");
  EXPECT_THAT(part.knobs().knobs[0].values, ElementsAre(8));
  EXPECT_THAT(part.knobs().knobs[1].values, ElementsAre(306'000, 1'300'500));
  ASSERT_EQ(part.cells().size(), 2u);
  EXPECT_DOUBLE_EQ(part.cells()[1].power_w, 34);
  EXPECT_EQ(sub_grid(small_profile(), {}).cells().size(), 6u);
}

TEST(SubGrid, NamesWhatTheProfileDoesNotHave) {
  EXPECT_THAT(error_of({{"dla_mhz", {1}}}), HasSubstr("dla_mhz: the profile of lenet has no such"));
  EXPECT_THAT(error_of({{"gpu_mhz", {306'001}}}),
              HasSubstr("gpu_mhz=306.001: the profile of lenet has 306, 624.75, 1300.5"));
  EXPECT_THAT(error_of({{"gpu_mhz", {}}}), HasSubstr("no value is kept"));
}

}  // namespace
}  // namespace gearshift

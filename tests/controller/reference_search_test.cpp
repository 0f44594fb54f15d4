#include "controller/reference_search.h"

#include <gtest/gtest.h>

#include <vector>

namespace gearshift {
namespace {

// The places asked for where only those below `first_over` can be measured.
std::vector<std::size_t> asked(ReferenceSearch& search, std::size_t first_over) {
  std::vector<std::size_t> places;
  while (const auto place = search.next()) {
    places.push_back(*place);
    *place < first_over ? search.measured() : search.failed();
  }
  return places;
}

TEST(ReferenceSearch, IsOverAfterTheHighestModeWhereThatCanBeMeasured) {
  ReferenceSearch search(1000);
  EXPECT_EQ(asked(search, 1000), (std::vector<std::size_t>{999}));
  EXPECT_EQ(search.found(), 999U);
  EXPECT_TRUE(search.is_highest());
}

TEST(ReferenceSearch, HalvesTowardsTheHighestOneThatCanBeMeasured) {
  ReferenceSearch search(16);
  EXPECT_EQ(asked(search, 11), (std::vector<std::size_t>{15, 7, 11, 9, 10}));
  EXPECT_EQ(search.found(), 10U);
  EXPECT_FALSE(search.is_highest());
}

TEST(ReferenceSearch, EndsAfterItsStepsOnABoardOfManyModes) {
  for (const std::size_t first_over : {std::size_t{1}, std::size_t{9000}, std::size_t{28999}}) {
    ReferenceSearch search(29000);
    EXPECT_LE(asked(search, first_over).size(), 7U);
    if (first_over == 1) continue;  // farther down than the steps reach
    ASSERT_TRUE(search.found()) << first_over;
    EXPECT_LT(*search.found(), first_over);
    EXPECT_GE(*search.found() + 29000 / 64 + 1, first_over);
  }
}

TEST(ReferenceSearch, FindsNothingWhereNothingCanBeMeasured) {
  for (const std::size_t modes : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    ReferenceSearch search(modes);
    asked(search, 0);
    EXPECT_FALSE(search.found()) << modes;
    EXPECT_FALSE(search.is_highest()) << modes;
  }
}

}  // namespace
}  // namespace gearshift

#include "controller/reference_search.h"

#include <gtest/gtest.h>

#include <vector>

namespace gearshift {
namespace {

using Place = ReferenceSearch::Place;

// The places asked for where only those below `first_over` can be measured, whatever the batch.
std::vector<std::size_t> asked(ReferenceSearch& search, std::size_t first_over) {
  std::vector<std::size_t> places;
  while (const auto place = search.next()) {
    places.push_back(place->mode);
    place->mode < first_over ? search.measured() : search.failed();
  }
  return places;
}

TEST(ReferenceSearch, IsOverAfterTheHighestModeWhereThatCanBeMeasured) {
  ReferenceSearch search(1000);
  EXPECT_EQ(asked(search, 1000), (std::vector<std::size_t>{999}));
  EXPECT_EQ(search.found(), (Place{999, 0}));
  EXPECT_TRUE(search.is_highest());
}

TEST(ReferenceSearch, HalvesTowardsTheHighestOneThatCanBeMeasured) {
  ReferenceSearch search(16);
  EXPECT_EQ(asked(search, 11), (std::vector<std::size_t>{15, 7, 11, 9, 10}));
  EXPECT_EQ(search.found(), (Place{10, 0}));
  EXPECT_FALSE(search.is_highest());
}

TEST(ReferenceSearch, EndsAfterItsStepsOnABoardOfManyModes) {
  for (const std::size_t first_over : {std::size_t{1}, std::size_t{9000}, std::size_t{28999}}) {
    ReferenceSearch search(29000);
    EXPECT_LE(asked(search, first_over).size(), 7U);
    if (first_over == 1) continue;  // farther down than the steps reach
    ASSERT_TRUE(search.found()) << first_over;
    EXPECT_LT(search.found()->mode, first_over);
    EXPECT_GE(search.found()->mode + 29000 / 64 + 1, first_over);
  }
}

TEST(ReferenceSearch, FindsNothingWhereNothingCanBeMeasured) {
  for (const std::size_t modes : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    ReferenceSearch search(modes, 3);
    asked(search, 0);
    EXPECT_FALSE(search.found()) << modes;
    EXPECT_FALSE(search.is_highest()) << modes;
  }
}

// The places asked for where the mode and the batch together decide.
std::vector<Place> asked_in(ReferenceSearch& search, std::size_t most_mode, std::size_t smaller) {
  std::vector<Place> places;
  while (const auto place = search.next()) {
    places.push_back(*place);
    const bool fits = place->smaller >= smaller && place->mode <= most_mode;
    fits ? search.measured() : search.failed();
  }
  return places;
}

TEST(ReferenceSearch, GoesDownTheBatchesInTheLowestModeAndUpTheModesFromThere) {
  ReferenceSearch search(6, 3);
  EXPECT_EQ(
      asked_in(search, 3, 2),
      (std::vector<Place>{{5, 0}, {2, 0}, {1, 0}, {0, 0}, {0, 1}, {0, 2}, {5, 2}, {3, 2}, {4, 2}}));
  EXPECT_EQ(search.found(), (Place{3, 2}));
  EXPECT_FALSE(search.is_highest());
}

TEST(ReferenceSearch, OfOneModeTheHighestWithASmallerBatchIsNotTheHighest) {
  ReferenceSearch search(1, 2);
  EXPECT_EQ(asked_in(search, 0, 1), (std::vector<Place>{{0, 0}, {0, 1}}));
  EXPECT_EQ(search.found(), (Place{0, 1}));
  EXPECT_FALSE(search.is_highest());
}

// The places asked for where larger batches are late in every mode.
std::vector<Place> asked_late(ReferenceSearch& search, std::size_t first_over,
                              std::size_t smaller) {
  std::vector<Place> places;
  while (const auto place = search.next()) {
    places.push_back(*place);
    if (place->mode >= first_over) {
      search.failed();
    } else {
      place->smaller < smaller ? search.late() : search.measured();
    }
  }
  return places;
}

TEST(ReferenceSearch, WhatIsLateInTheHighestModeIsTriedInNoLowerOne) {
  ReferenceSearch search(6, 3);
  EXPECT_EQ(asked_late(search, 6, 2), (std::vector<Place>{{5, 0}, {5, 1}, {5, 2}}));
  EXPECT_EQ(search.found(), (Place{5, 2}));
  EXPECT_FALSE(search.is_highest());
}

TEST(ReferenceSearch, OverTheCapAndLateBelowItLeavesTheModesBetween) {
  ReferenceSearch search(8, 1);
  EXPECT_EQ(asked_late(search, 6, 1),
            (std::vector<Place>{{7, 0}, {3, 0}, {5, 0}, {6, 0}, {7, 1}, {3, 1}, {5, 1}, {6, 1}}));
  EXPECT_EQ(search.found(), (Place{5, 1}));
}

TEST(ReferenceSearch, WhatKeepsTheCapAndIsLateInTheLowestModeIsTriedInTheHighest) {
  ReferenceSearch search(2, 1);
  const auto next = [&search](Place expected) { EXPECT_EQ(search.next(), expected); };
  next({1, 0});
  search.failed();
  next({0, 0});
  search.failed();
  next({0, 1});
  search.late();
  next({1, 1});
  search.measured();
  EXPECT_EQ(search.found(), (Place{1, 1}));
}

TEST(ReferenceSearch, AsksALowestModeForEachBatchWhereNothingCanBeMeasured) {
  ReferenceSearch search(29000, 31);
  EXPECT_EQ(asked_in(search, 0, 32).size(), 7U + 31U);
  EXPECT_FALSE(search.found());
}

TEST(ReferenceSearch, SmallerBatchesAreThoseOfferedBelowTheWorkloadsOwn) {
  const std::int32_t offered[] = {8, 16, 32};
  EXPECT_EQ(smaller_batches(offered, 32), 2U);
  EXPECT_EQ(smaller_batches(offered, 8), 0U);
  EXPECT_EQ(smaller_batches(offered, 24), 2U) << "its own need not be among them";
  EXPECT_EQ(smaller_batches({}, 16), 0U);
  EXPECT_EQ(smaller_batch(offered, 24, 0), 24);
  EXPECT_EQ(smaller_batch(offered, 32, 1), 16);
  EXPECT_EQ(smaller_batch(offered, 32, 5), 8);
  EXPECT_EQ(smaller_batch(offered, 8, 2), 8);
  EXPECT_EQ(smaller_batch({}, 16, 2), 16);
}

}  // namespace
}  // namespace gearshift

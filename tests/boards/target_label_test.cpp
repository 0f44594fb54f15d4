#include "boards/target_label.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

TEST(TargetLabel, ComparesPublishedModes) {
  const auto comparison = parse_comparison("GPU compute: e over d");
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->quantity, "GPU compute");
  EXPECT_EQ(comparison->over.mode, "e");
  EXPECT_EQ(comparison->under.mode, "d");
}

TEST(TargetLabel, ComparesAClockWithTheHighestMode) {
  const auto comparison = parse_comparison("GPU 114.75 MHz over MAXN");
  ASSERT_TRUE(comparison);
  EXPECT_EQ(comparison->quantity, "");
  EXPECT_EQ(comparison->over.mode, "MAXN");
  EXPECT_EQ(comparison->over.gpu_mhz, 114.75);
  EXPECT_EQ(comparison->under.mode, "MAXN");
  EXPECT_FALSE(comparison->under.gpu_mhz);
}

TEST(TargetLabel, ComparesWorkersAndBatchSizesInTheModeOfTheTarget) {
  const auto workers = parse_comparison("g, w=0 over w=4 (cached)");
  ASSERT_TRUE(workers);
  EXPECT_EQ(workers->over.workers, 0);
  EXPECT_EQ(workers->under.workers, 4);
  EXPECT_EQ(workers->over.mode, "");
  const auto batches = parse_comparison("compute per minibatch, bs 8 over 1");
  ASSERT_TRUE(batches);
  EXPECT_EQ(batches->quantity, "compute per minibatch");
  EXPECT_EQ(batches->over.batch_size, 8);
  EXPECT_EQ(batches->under.batch_size, 1);
  EXPECT_EQ(batches->under.mode, "");
}

TEST(TargetLabel, WhatComparesNothingIsNoComparison) {
  EXPECT_FALSE(parse_comparison("MAXN"));
  EXPECT_FALSE(parse_comparison(""));
}

TEST(TargetLabel, KnowsGridsOfModes) {
  EXPECT_EQ(parse_mode_grid("all 4368 modes")->modes, 4368u);
  EXPECT_EQ(parse_mode_grid("all 4368 modes")->minibatches, 1);
  EXPECT_EQ(parse_mode_grid("4368 modes x 40 minibatches")->minibatches, 40);
  for (const char* none :
       {"", "all modes", "all -1 modes", "all nan modes", "all 1e9 modes", "50 random modes",
        "10 modes x 0 minibatches", " modes x 4 minibatches", "all  modes", "all modes "}) {
    EXPECT_FALSE(parse_mode_grid(none)) << none;
  }
}

}  // namespace
}  // namespace gearshift

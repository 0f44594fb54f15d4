// What is kept of more settings than there is room for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "controller/rationale.h"
#include "tests/fakes/gpu_gears.h"

namespace gearshift {
namespace {

using fakes::gpu_gear;

constexpr auto kRoom = static_cast<std::int64_t>(Rationale::kMostTried);

class RationaleRoom : public testing::Test {
 protected:
  RationaleRoom() { note({NoteType::goal, {}, 0, 30'000, nullptr, nullptr, nullptr, "operator"}); }
  void note(const Note& note) { rationale_.note(note); }
  void observe(std::int64_t gpu_khz, int minibatch_ms, std::int64_t power_mw,
               Outcome outcome = Outcome::complete) {
    const Observation observation = fakes::measured_gear(gpu_khz, minibatch_ms, power_mw, outcome);
    note({NoteType::observation, {}, 0, 0, &observation.setting, &observation, nullptr, ""});
  }
  void hold(std::int64_t gpu_khz) {
    const Setting setting = gpu_gear(gpu_khz);
    note({NoteType::hold, {}, 0, 0, &setting, nullptr, nullptr, ""});
  }
  bool knows(std::int64_t gpu_khz) const {
    return std::any_of(rationale_.tried().begin(), rationale_.tried().end(), [&](const Tried& one) {
      return one.observation.setting == gpu_gear(gpu_khz);
    });
  }
  Rationale rationale_;
};

TEST_F(RationaleRoom, HasAnEndAndTheNewestAreKept) {
  for (std::int64_t i = 0; i <= kRoom; ++i) observe(i, 1000 - static_cast<int>(i), 28'000);
  EXPECT_EQ(rationale_.tried().size(), Rationale::kMostTried);
  EXPECT_FALSE(knows(0));
  EXPECT_TRUE(knows(1));
}

// A sweep goes on for long after it has met what it ends with.
TEST_F(RationaleRoom, TheBestAndWhatIsHeldAreKept) {
  observe(-1, 500, 20'000);
  hold(-1);
  observe(-2, 10, 28'000);  // least time
  observe(-3, 200, 1'000);  // least energy
  observe(-4, 15, 25'000);
  for (std::int64_t i = 0; i < 2 * kRoom; ++i) observe(i, 300, 28'000);
  EXPECT_EQ(rationale_.tried().size(), Rationale::kMostTried);
  ASSERT_NE(rationale_.held_cost(), nullptr);
  EXPECT_EQ(rationale_.held_cost()->setting, gpu_gear(-1));
  EXPECT_EQ(rationale_.best().observation->setting, gpu_gear(-2));
  EXPECT_EQ(rationale_.for_objective(Objective::energy).observation->setting, gpu_gear(-3));
  EXPECT_FALSE(knows(-4));
}

TEST_F(RationaleRoom, WhatWasCutGoesFirst) {
  observe(-1, 300, 28'000);
  observe(-2, 300, 29'000);
  observe(-3, 300, 34'000, Outcome::over_limit);
  for (std::int64_t i = 0; i < kRoom - 2; ++i) observe(i, 200, 28'000);
  EXPECT_FALSE(knows(-3));
  EXPECT_TRUE(knows(-1));
  EXPECT_TRUE(knows(-2));
}

}  // namespace
}  // namespace gearshift

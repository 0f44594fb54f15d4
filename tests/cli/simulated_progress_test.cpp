#include "cli/simulated_progress.h"

#include <gtest/gtest.h>

#include <chrono>

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(SimulatedProgress, TellsWhenAMissionWillBeOver) {
  EXPECT_EQ(simulated_progress_text(hours(6), hours(24), true, 30),
            "6:00:00/24:00:00 of virtual time, ETA 1:30");
  EXPECT_EQ(simulated_progress_text(seconds(754), hours(24), true, 60),
            "12:34/24:00:00 of virtual time, ETA 1:53:35");
  EXPECT_EQ(simulated_progress_text(Duration::zero(), hours(24), true, 5),
            "0:00/24:00:00 of virtual time, ETA ?");
}

TEST(SimulatedProgress, DoesNotSayWhenASearchWillEnd) {
  EXPECT_EQ(simulated_progress_text(seconds(5), hours(12), false, 60),
            "0:05 of at most 12:00:00 of virtual time");
}

}  // namespace
}  // namespace gearshift

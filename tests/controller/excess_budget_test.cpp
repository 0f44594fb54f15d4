#include "controller/excess_budget.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// 20 W: 40 mJ a second, 12 J in five minutes.
struct Drawing {
  void draw(Duration span, std::int64_t excess_mw) {
    now += span;
    budget.add(now, 20000 + excess_mw, excess_mw);
  }
  ExcessBudget budget;
  Time now{};
};

TEST(ExcessBudget, IsFullAtFirstAndSpentPastIt) {
  Drawing run;
  run.draw(seconds(0), 0);
  EXPECT_FALSE(run.budget.spent());
  run.draw(seconds(12), 1000);
  EXPECT_FALSE(run.budget.spent()) << "12 J, and 21 W have filled it up to 12.5 before";
  run.draw(seconds(1), 1000);
  EXPECT_TRUE(run.budget.spent());
}

TEST(ExcessBudget, IsChargedWithWhatNoReadingHasShown) {
  Drawing run;
  run.draw(seconds(0), 0);
  run.budget.charge(24000, milliseconds(500));
  EXPECT_FALSE(run.budget.spent()) << "12 J of 12";
  run.budget.charge(100, milliseconds(10));
  EXPECT_TRUE(run.budget.spent());
  run.budget.charge(1'000'000, seconds(1000));
  run.draw(seconds(299), 0);
  EXPECT_TRUE(run.budget.spent());
  run.draw(seconds(2), 0);
  EXPECT_FALSE(run.budget.spent()) << "it owes no more than it can hold";
}

TEST(ExcessBudget, ComesBackAtAFifthOfAPercent) {
  Drawing run;
  run.draw(seconds(0), 0);
  run.draw(seconds(1), 22150);  // 42.15 W for a second brought 0.08 J: 10.07 J too many
  EXPECT_TRUE(run.budget.spent());
  run.draw(seconds(240), 0);
  EXPECT_TRUE(run.budget.spent()) << "9.6 J";
  run.draw(seconds(12), 0);
  EXPECT_FALSE(run.budget.spent()) << "10.08 J";
}

TEST(ExcessBudget, SavesUpNoMoreThanFiveMinutes) {
  Drawing run;
  run.draw(seconds(0), 0);
  for (int hour = 0; hour < 24; ++hour) run.draw(std::chrono::hours(1), 0);
  run.draw(seconds(1), 11000);
  EXPECT_FALSE(run.budget.spent());
  run.draw(seconds(1), 11000);
  EXPECT_TRUE(run.budget.spent());
}

TEST(ExcessBudget, OwesNoMoreThanFiveMinutes) {
  Drawing run;
  run.draw(seconds(0), 0);
  run.draw(seconds(3600), 20000);
  EXPECT_TRUE(run.budget.spent());
  run.draw(seconds(500), 0);  // 40 W could owe 24 J, of which 20 W pay 20
  EXPECT_TRUE(run.budget.spent());
  run.draw(seconds(110), 0);
  EXPECT_FALSE(run.budget.spent());
}

TEST(ExcessBudget, TimeOfWhichNothingIsKnownIsNobodysFault) {
  Drawing run;
  run.draw(seconds(0), 0);
  run.now += seconds(100);
  run.budget.skip(run.now);
  run.draw(seconds(1), 2000);
  EXPECT_FALSE(run.budget.spent());
}

TEST(ExcessBudget, OverADayAScriptThatAsksForMoreStaysBelowThreeTenthsOfAPercent) {
  Drawing run;
  double excess_j = 0;
  double all_j = 0;
  for (int tick = 0; tick < 864'000; ++tick) {
    const std::int64_t excess_mw = run.budget.spent() ? 0 : 15000;
    run.draw(milliseconds(100), excess_mw);
    excess_j += static_cast<double>(excess_mw) / 1e4;
    all_j += static_cast<double>(20000 + excess_mw) / 1e4;
  }
  EXPECT_LT(excess_j / all_j, 0.003);
  EXPECT_GT(excess_j / all_j, 0.0018) << "it gets its share";
}

}  // namespace
}  // namespace gearshift

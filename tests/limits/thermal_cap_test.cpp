// How the cap follows what zones allow, and which of them counts.
#include <gtest/gtest.h>

#include <cmath>

#include "limits/thermal_limit.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kTightC = 70;
constexpr double kLooseC = 75;

// A board whose power follows no cap, in air of 45 C, in a housing of 0.9 K/W and 80 s: every limit
// that looks at it sees the same.
class OpenLoop {
 public:
  explicit OpenLoop(std::vector<ThermalLimit> limits) : limits_(std::move(limits)) {}

  // What all zones read is so much off what the board has.
  void run(double power_w, double for_s, double off_c = 0) {
    for (int i = 0; i < std::lround(10 * for_s); ++i) {
      temperature_c_ += (1 - std::exp(-0.1 / 80)) * (45 + 0.9 * power_w - temperature_c_);
      now_ += milliseconds(100);
      for (ThermalLimit& limit : limits_) {
        limit.read({.quantity = Quantity::power,
                    .state = ReadingState::ok,
                    .value = std::llround(1000 * power_w),
                    .taken = now_});
        show(limit, temperature_c_ + off_c);
        limit.power_mw(now_);
      }
    }
  }
  // One sample of all zones, 0.1 s after the last.
  void sample(double temperature_c) {
    now_ += milliseconds(100);
    for (ThermalLimit& limit : limits_) {
      show(limit, temperature_c);
      limit.power_mw(now_);
    }
  }
  void suspend(Duration span, double power_w) {
    now_ += span;
    temperature_c_ = 45 + (temperature_c_ - 45) * std::exp(-gearshift::seconds(span) / 80);
    run(power_w, 0.1);
  }
  std::optional<std::int64_t> cap(std::size_t i = 0) { return limits_[i].power_mw(now_); }

 private:
  void show(ThermalLimit& limit, double temperature_c) {
    for (const ThermalZoneLimit& zone : limit.zones()) {
      limit.read({.quantity = Quantity::temperature,
                  .state = ReadingState::ok,
                  .channel = zone.channel,
                  .value = std::llround(1000 * temperature_c),
                  .taken = now_});
    }
  }

  std::vector<ThermalLimit> limits_;
  Time now_{};
  double temperature_c_ = 45;
};

ThermalLimit limit_of(std::vector<ThermalZoneLimit> zones) {
  return ThermalLimit({.zones = std::move(zones)});
}

// Learnt, and warm through at 37 W and 78.3 C.
OpenLoop warm_board() {
  OpenLoop board({limit_of({{0, 80}})});
  board.run(10, 600);
  board.run(37, 1200);
  return board;
}

TEST(ThermalCap, IsThatOfTheZoneThatAllowsLeast) {
  OpenLoop board({limit_of({{0, kTightC}}), limit_of({{0, kLooseC}}),
                  limit_of({{0, kTightC}, {1, kLooseC}}), limit_of({{0, kLooseC}, {1, kTightC}})});
  board.run(10, 300);
  int apart = 0;
  for (int second = 0; second < 900; ++second) {
    board.run(31, 1);
    ASSERT_EQ(board.cap(2), board.cap(0)) << second;
    ASSERT_EQ(board.cap(3), board.cap(0)) << second;
    if (board.cap(0) && board.cap(1) && *board.cap(0) < *board.cap(1)) ++apart;
  }
  EXPECT_GT(apart, 300);
}

// 37 W + 1.7 C / (0.9 K/W (1 - exp(-120 s / 80 s))) = 39.4 W are allowed.
TEST(ThermalCap, LeavesRoomBelowWhatIsAllowed) {
  OpenLoop board = warm_board();
  ASSERT_TRUE(board.cap());
  EXPECT_GE(*board.cap(), 0.96 * 39'400);
  EXPECT_LE(*board.cap(), 0.985 * 39'400);
}

// 4 C less are 5.7 W more; half a degree is 0.7 W, less than the 6 % that a search is restarted
// for.
TEST(ThermalCap, RisesAfterHalfAMinuteOfMuchMore) {
  OpenLoop board = warm_board();
  const auto before = board.cap();
  ASSERT_TRUE(before);
  board.run(37, 60, -0.5);
  EXPECT_EQ(board.cap(), before);
  board.run(37, 29, -4);
  EXPECT_EQ(board.cap(), before);
  board.run(37, 3, -4);
  ASSERT_TRUE(board.cap());
  EXPECT_GT(*board.cap(), *before);
}

// Idle it is cooler, and 1.2 times what it ever drew is allowed.
TEST(ThermalCap, StaysWhileTheBoardIdles) {
  OpenLoop board = warm_board();
  board.run(15, 600);
  EXPECT_TRUE(board.cap());
}

// It has felt nothing meanwhile, though the first reading is that of work.
TEST(ThermalCap, StaysOverAMinuteThatTheBoardSlept) {
  OpenLoop board = warm_board();
  board.suspend(seconds(60), 37);
  board.run(37, 2);
  EXPECT_TRUE(board.cap());
}

// 10 C at once are a load's: what falls behind them further than a zone cools is not believed.
TEST(ThermalCap, NoRiseOfALittleIsTakenBackForAGlitch) {
  OpenLoop board({limit_of({{0, 80}})});
  board.run(20, 1);
  for (int i = 0; i < 12; ++i) board.sample(68);
  EXPECT_EQ(board.cap(), std::nullopt);
  board.sample(78);
  for (int i = 0; i < 30; ++i) board.sample(60);
  EXPECT_TRUE(board.cap());
}

}  // namespace
}  // namespace gearshift

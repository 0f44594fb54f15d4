// A step down where cores must go.
#include <gtest/gtest.h>

#include "controller/board.h"
#include "tests/fakes/fake_board.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using Writes = std::vector<std::pair<std::string, std::int64_t>>;

class CoresThatStay : public fakes::FakeActuator {
 public:
  using FakeActuator::FakeActuator;
  Progress write(std::size_t knob, std::int64_t value) override {
    if (knob == 0 && stay) throw KnobError("cpu_cores: refused");
    return FakeActuator::write(knob, value);
  }
  bool stay = false;
};

class BoardRoute : public testing::Test {
 protected:
  static fakes::Hardware four_cores() {
    fakes::Hardware hardware;
    hardware.space.knobs = {
        {"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 3, 4}, true},
        {"gpu_mhz", Unit::khz, KnobClass::clock, {100000, 200000, 300000}},
        {"power_limit_w", Unit::mw, KnobClass::power_limit, {10000, 20000, 30000}},
        {"mem_mhz", Unit::khz, KnobClass::memory, {100000, 200000, 300000}}};
    hardware.values = {4, 200000, 20000, 200000};
    return hardware;
  }
  static PowerMode mode(std::int64_t cores, std::int64_t gpu) {
    return {.values = {cores, gpu, 20000, 200000}, .count = 4};
  }
  static Time at(milliseconds time) { return Time{} + time; }

  fakes::Hardware hardware_ = four_cores();
  CoresThatStay* actuator_ = new CoresThatStay(hardware_);  // owned by board_
  Board board_{std::unique_ptr<Actuator>(actuator_), {}, fakes::fake_traits()};
};

// Cores take a tick each: until the last is gone power would stay where it is.
TEST_F(BoardRoute, AStepDownLowersTheClocksBeforeCoresGoAndRaisesThemBehindTheLast) {
  board_.begin(mode(2, 300000), at(milliseconds(0)), Route::low_clocks_first);
  EXPECT_EQ(board_.advance(at(milliseconds(0))), ApplyState::applying);
  EXPECT_EQ(
      hardware_.writes,
      (Writes{
          {"gpu_mhz", 100000}, {"power_limit_w", 10000}, {"mem_mhz", 100000}, {"cpu_cores", 3}}));
  hardware_.writes.clear();
  EXPECT_EQ(board_.advance(at(milliseconds(20))), ApplyState::applied);
  EXPECT_EQ(
      hardware_.writes,
      (Writes{
          {"cpu_cores", 2}, {"mem_mhz", 200000}, {"power_limit_w", 20000}, {"gpu_mhz", 300000}}));
  EXPECT_EQ(hardware_.values, (std::vector<std::int64_t>{2, 300000, 20000, 200000}));
}

TEST_F(BoardRoute, AStepDownThatNeedsNoCoreToGoTakesNoDetour) {
  board_.begin(mode(4, 100000), at(milliseconds(0)), Route::low_clocks_first);
  EXPECT_EQ(board_.advance(at(milliseconds(0))), ApplyState::applied);
  EXPECT_EQ(hardware_.writes, (Writes{{"gpu_mhz", 100000}}));
}

TEST_F(BoardRoute, CoresThatWillNotGoDoNotKeepTheClocksLow) {
  actuator_->stay = true;
  board_.begin(mode(2, 300000), at(milliseconds(0)), Route::low_clocks_first);
  EXPECT_EQ(board_.advance(at(milliseconds(0))), ApplyState::refused);
  EXPECT_EQ(hardware_.values, (std::vector<std::int64_t>{4, 300000, 20000, 200000}));
}

}  // namespace
}  // namespace gearshift

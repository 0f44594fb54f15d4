#include "actuators/timed_actuator.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_board.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

class FakeClock : public Clock {
 public:
  Time now() const override { return now_; }
  Time now_{};
};

// Every write takes as long as it says.
class SlowActuator : public fakes::FakeActuator {
 public:
  SlowActuator(fakes::Hardware& hardware, FakeClock& clock)
      : FakeActuator(hardware), clock_(clock) {}
  Progress write(std::size_t knob, std::int64_t value) override {
    clock_.now_ += milliseconds(6);
    return FakeActuator::write(knob, value);
  }

 private:
  FakeClock& clock_;
};

TEST(TimedActuator, SaysWhenAWriteWasMade) {
  fakes::Hardware hardware;
  FakeClock clock;
  TimedActuator timed(std::make_unique<SlowActuator>(hardware, clock), clock);
  EXPECT_EQ(timed.wrote(), std::nullopt);
  clock.now_ = Time(milliseconds(100));
  EXPECT_EQ(timed.write(1, 600000), Progress::done);
  EXPECT_EQ(timed.wrote(), Time(milliseconds(103)));
  EXPECT_EQ(timed.write(0, 2), Progress::more);
  EXPECT_EQ(timed.wrote(), Time(milliseconds(109)));
  EXPECT_EQ(timed.read(1), 600000);
}

TEST(TimedActuator, AWriteThatFailsMayHaveBeenMade) {
  fakes::Hardware hardware;
  hardware.refuse = "gpu_mhz";
  FakeClock clock;
  clock.now_ = Time(milliseconds(100));
  TimedActuator timed(std::make_unique<fakes::FakeActuator>(hardware), clock);
  EXPECT_THROW(timed.write(1, 600000), KnobError);
  EXPECT_EQ(timed.wrote(), Time(milliseconds(100)));
}

}  // namespace
}  // namespace gearshift

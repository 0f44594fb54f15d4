// A knob that cannot be read for a while: its file fails, or the helper that sets it is gone.
#include <gtest/gtest.h>

#include "controller/board.h"
#include "tests/fakes/fake_board.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

class BlindActuator : public fakes::FakeActuator {
 public:
  using FakeActuator::FakeActuator;
  std::optional<std::int64_t> read(std::size_t knob) override {
    return blind ? std::nullopt : FakeActuator::read(knob);
  }
  bool blind = false;
};

TEST(BoardUnreadable, AKnobThatCanBeReadAgainAndIsNotWhatWasWantedIsFound) {
  fakes::Hardware hardware;
  auto* actuator = new BlindActuator(hardware);  // owned by board
  Board board{std::unique_ptr<Actuator>(actuator), {}, fakes::fake_traits()};
  const PowerMode wanted = board.knobs().highest();
  const std::size_t last = board.knobs().size() - 1;
  actuator->blind = true;
  board.begin(wanted, Time{});
  for (int tick = 1; tick < 100; ++tick) board.advance(Time{} + milliseconds(100) * tick);
  ASSERT_EQ(board.state(), ApplyState::not_applied);
  EXPECT_FALSE(board.outside_write()) << "nobody knows";
  actuator->blind = false;
  EXPECT_FALSE(board.outside_write()) << "it is what was wanted";
  actuator->blind = true;
  board.begin(wanted, Time{});
  for (int tick = 1; tick < 100; ++tick) board.advance(Time{} + milliseconds(100) * tick);
  actuator->blind = false;
  const std::int64_t lowest = board.knobs().lowest().values[last];
  hardware.values[last] = lowest;
  const auto write = board.outside_write();
  ASSERT_TRUE(write);
  EXPECT_EQ(write->knob, last);
  EXPECT_EQ(write->ours, wanted.values[last]);
  EXPECT_EQ(write->theirs, lowest);
}

}  // namespace
}  // namespace gearshift

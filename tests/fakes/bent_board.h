// A board of one knob of each class, whose reads and writes a test may bend.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tests/fakes/fake_board.h"

namespace gearshift::fakes {

inline PowerMode mode_of(std::initializer_list<std::int64_t> values) {
  PowerMode mode;
  for (const std::int64_t value : values) mode.values[mode.count++] = value;
  return mode;
}

// A knob of each class, in an order that is none of those they are written in.
inline Hardware five_knobs() {
  Hardware hardware;
  hardware.space.knobs = {
      {"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 3, 4}, true},
      {"cpu_mhz", Unit::khz, KnobClass::clock, {100000, 200000, 300000}, true},
      {"power_limit_w", Unit::mw, KnobClass::power_limit, {10000, 20000, 30000}},
      {"gpu_mhz", Unit::khz, KnobClass::clock, {100000, 200000, 300000}},
      {"mem_mhz", Unit::khz, KnobClass::memory, {100000, 200000, 300000}}};
  hardware.values = {2, 200000, 20000, 200000, 200000};
  return hardware;
}

// An actuator whose reads and writes a test may bend.
class BentActuator : public FakeActuator {
 public:
  explicit BentActuator(Hardware& hardware) : FakeActuator(hardware), hardware_(hardware) {}
  Progress write(std::size_t knob, std::int64_t value) override {
    const std::string& name = hardware_.space.knobs[knob].name;
    for (const std::string& refused : refuse) {
      if (name == refused) throw KnobError(name + ": refused");
    }
    const Progress progress = FakeActuator::write(knob, value);
    if (after_write) after_write(name);
    if (name == answered_late) {
      answered_late.clear();
      return Progress::more;
    }
    return never_done && name == "cpu_cores" ? Progress::more : progress;
  }
  std::optional<std::int64_t> read(std::size_t knob) override {
    if (hardware_.space.knobs[knob].name == unreadable) return std::nullopt;
    return FakeActuator::read(knob);
  }

  std::vector<std::string> refuse;
  std::string unreadable;
  std::string answered_late;  // a knob whose next write asks for another call
  bool never_done = false;
  std::function<void(const std::string&)> after_write;

 private:
  Hardware& hardware_;
};

// Changes begin 100 s after the clock's beginning.
class BentBoardTest : public testing::Test {
 protected:
  Hardware hardware_ = five_knobs();
  BentActuator* actuator_ = new BentActuator(hardware_);  // owned by board_
  Board board_{std::unique_ptr<Actuator>(actuator_), {}, fake_traits()};

  // Advances, 100 ms apart, until the change has ended; how many advances that took.
  int finish(Duration from = {}) {
    for (int advances = 1;; ++advances) {
      if (board_.advance(Time{} + std::chrono::seconds(100) + from +
                         std::chrono::milliseconds(100) * advances) != ApplyState::applying ||
          advances == 100) {
        return advances;
      }
    }
  }
};

}  // namespace gearshift::fakes

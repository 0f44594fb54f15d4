// Fakes of a board's sensor and actuator that record what was done to them, in virtual time.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/actuator.h"
#include "controller/board.h"
#include "controller/sensor.h"

namespace gearshift::fakes {

inline KnobSpace two_knobs() {
  return {.knobs = {{.name = "cpu_cores",
                     .unit = Unit::count,
                     .knob_class = KnobClass::hotplug,
                     .values = {1, 2, 3, 4},
                     .follows_cores = true},
                    {.name = "gpu_mhz",
                     .unit = Unit::khz,
                     .knob_class = KnobClass::clock,
                     .values = {300000, 600000, 900000}}}};
}

// The state of the pretended hardware; shared by the actuator, the sensor and the test.
struct Hardware {
  KnobSpace space = two_knobs();
  std::vector<std::int64_t> values{4, 900000};
  std::vector<std::pair<std::string, std::int64_t>> writes;  // knob, value: in order
  std::vector<std::int32_t> managed_pids;
  int restores = 0;
  std::string refuse;  // a knob whose writes throw
  std::string ignore;  // a knob whose writes change nothing
  bool gone = false;   // no knob can be written or read
  bool away = false;   // nor is there anybody who would
  bool loaded = true;  // a workload runs
  bool trains = true;
  std::int64_t training_mw = 0;  // beside requests, or alone
  ReadingState reading_state = ReadingState::ok;
  bool estimate = false;  // readings are computed
  bool frozen = false;    // readings keep their time: stale
  Time frozen_at{};
  std::int64_t extra_mw = 0;
  std::int64_t sample_mw = 0;  // for each sample of a batch
  std::int32_t batch_size = 16;
  double lag_s = 0;          // of the sensor, first order
  Duration averaging{};      // of the sensor, which shows the mean of power over this
  std::int64_t step_mw = 1;  // and that rounded to such steps
  Duration writes_take{};    // after the newest reading, or the write before; zero: no time passes
  std::optional<Time> wrote;
  std::deque<std::pair<Time, std::int64_t>>
      moves;  // by writes that took time: until when power was what

  // 5 W idle, and with a load 2 W a core and 10 W a GHz of GPU clock.
  std::int64_t power_mw() const {
    if (!loaded) return 5000 + extra_mw;
    return 5000 + 2000 * values[0] + values[1] / 100 + extra_mw + sample_mw * batch_size +
           (trains ? training_mw : 0);
  }
};

class FakeActuator : public Actuator {
 public:
  explicit FakeActuator(Hardware& hardware) : hardware_(hardware) {}
  const KnobSpace& knobs() const override { return hardware_.space; }
  Progress write(std::size_t knob, std::int64_t value) override {
    const Knob& described = hardware_.space.knobs[knob];
    if (hardware_.away) return Progress::away;
    if (hardware_.gone || described.name == hardware_.refuse)
      throw KnobError(described.name + ": refused");
    std::int64_t& actual = hardware_.values[knob];
    std::int64_t next = value;
    const bool steps = described.knob_class == KnobClass::hotplug;
    if (steps && value != actual) next = actual + (value > actual ? 1 : -1);
    hardware_.writes.emplace_back(described.name, next);
    const std::int64_t mw_before = hardware_.power_mw();
    if (hardware_.writes_take > Duration::zero()) {
      hardware_.wrote =
          std::max(hardware_.wrote.value_or(Time{}), hardware_.frozen_at) + hardware_.writes_take;
      hardware_.moves.emplace_back(*hardware_.wrote, mw_before);
    }
    if (described.name != hardware_.ignore) actual = next;
    return next == value ? Progress::done : Progress::more;
  }
  std::optional<Time> wrote() const override { return hardware_.wrote; }
  std::optional<std::int64_t> read(std::size_t knob) override {
    return hardware_.gone || hardware_.away ? std::nullopt : std::optional(hardware_.values[knob]);
  }
  void manage(std::int32_t pid, Kind) override { hardware_.managed_pids.push_back(pid); }
  void restore() override { ++hardware_.restores; }

 private:
  Hardware& hardware_;
};

// Reads the hardware's power, without lag or averaging unless the hardware says so.
class FakeSensor : public Sensor {
 public:
  explicit FakeSensor(Hardware& hardware) : hardware_(hardware) {}
  void read(Time now, std::vector<Reading>& readings) override {
    if (!hardware_.frozen) hardware_.frozen_at = now;
    readings.push_back({.quantity = Quantity::power,
                        .state = hardware_.reading_state,
                        .estimate = hardware_.estimate,
                        .channel = 0,
                        .value = shown_mw(now),
                        .taken = hardware_.frozen_at});
  }
  std::string explain(const Reading& reading) const override {
    return reading.state == ReadingState::ok ? "" : "fake sensor says so";
  }

 private:
  std::int64_t shown_mw(Time now) {
    const double step_s = std::chrono::duration<double>(now - read_at_).count();
    const double power_mw = static_cast<double>(hardware_.power_mw());
    const bool first = read_at_ == Time{};
    read_at_ = now;
    if (hardware_.averaging > Duration::zero()) return averaged_mw(now);
    if (first || hardware_.lag_s <= 0) {
      filtered_mw_ = power_mw;
    } else {
      filtered_mw_ += (power_mw - filtered_mw_) * (1 - std::exp(-step_s / hardware_.lag_s));
    }
    return static_cast<std::int64_t>(filtered_mw_);
  }

  // Power is taken to have been the same since the reading before.
  std::int64_t averaged_mw(Time now) {
    std::deque<std::pair<Time, std::int64_t>>& moves = hardware_.moves;
    while (!moves.empty() && moves.front().first <= now) {
      spans_.push_back(moves.front());
      moves.pop_front();
    }
    spans_.emplace_back(now, moves.empty() ? hardware_.power_mw() : moves.front().second);
    const Time from = now - hardware_.averaging;
    while (spans_.size() > 1 && spans_[1].first <= from) spans_.pop_front();
    double energy = 0;
    Time begin = from;
    for (const auto& [end, mw] : spans_) {
      energy += std::max(0.0, gearshift::seconds(end - begin)) * static_cast<double>(mw);
      begin = std::max(begin, end);
    }
    const auto step_mw = static_cast<double>(hardware_.step_mw);
    return hardware_.step_mw *
           std::llround(energy / gearshift::seconds(hardware_.averaging) / step_mw);
  }

  Hardware& hardware_;
  std::deque<std::pair<Time, std::int64_t>> spans_;  // until when power was what
  double filtered_mw_ = 0;
  Time read_at_{};
};

inline BoardTraits fake_traits() {
  BoardTraits traits;
  traits.name = "fake";
  traits.power_window = std::chrono::milliseconds(400);
  traits.stale_after = std::chrono::seconds(1);
  traits.apply_timeout = std::chrono::seconds(3);
  return traits;
}

// `modes`, lowest power first, are what the board tells of itself.
inline Board fake_board(Hardware& hardware, std::vector<PowerMode> modes = {}) {
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<FakeSensor>(hardware));
  BoardTraits traits = fake_traits();
  traits.modes = std::move(modes);
  return Board(std::make_unique<FakeActuator>(hardware), std::move(sensors), std::move(traits));
}

inline PowerMode mode(std::int64_t cores, std::int64_t gpu_khz) {
  PowerMode mode;
  mode.count = 2;
  mode.values[0] = cores;
  mode.values[1] = gpu_khz;
  return mode;
}

}  // namespace gearshift::fakes

// What flows out of a battery beside what the board draws: motors, radios, losses; or into it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "controller/clock.h"
#include "controller/event.h"

namespace gearshift {

// A battery that has so much of its capacity counts as full: what it was offered more it did not
// take.
inline constexpr double kFullOfCapacity = 0.995;

// What a battery gave in a time, and the board took.
struct DrainWindow {
  Time began{};
  Time ended{};
  double drained_w = 0;  // mean; negative: it was charged
  double board_w = 0;    // mean
  double most_wh = 0;    // that was left at its beginning or its end
};

// Compares, window by window, the energy that left the battery with the board's mean power. A gauge
// may count in steps that hide what a window takes, whole percents for one: such a window lasts
// from one step to another, some steps later, or until a step is little beside what the board drew.
// A window in which the gauge moved once by much more than a step tells nothing: it found its
// error.
//
// More that flows out than before is believed at once, less by half of each window: what is taken
// for too much costs some work, what is taken for too little the reserve. A charger that goes is
// seen at once where somebody measures what flows at the battery's terminals.
//
// A window that ends full without having drained anything tells the least that a charger gives, as
// much as the board drew, and not how much more.
class DrainMeter {
 public:
  explicit DrainMeter(Duration window) : window_(window) {}

  // The board's power; readings that are not ok are passed over.
  void add_power(const Reading& reading);
  // What the battery was believed to hold at `taken`, and what it holds full. The window that ends
  // with it, if one does.
  std::optional<DrainWindow> add_energy(double energy_wh, double capacity_wh, Time taken);
  // What flows out at the terminals, W; negative: in. It counts once the board's power is known.
  void add_flow(double out_w, Time taken);
  bool measured() const { return other_w_.has_value(); }
  // W; 0 until the first window has passed. Negative: a charger gives, no more than flows in now.
  double other_w(Time now) const;
  // The battery is full, nothing left it in the last window, and next to nothing flows out at its
  // terminals, where somebody measures that: a charger gives what other_w() says, and nobody knows
  // how much more.
  bool floats(Time now) const;

 private:
  bool knows_flow(Time now) const;
  void begin();
  DrainWindow close();
  void add_change(double change_wh);
  double step_wh(double capacity_wh) const;
  double board_w() const { return power_sum_w_ / static_cast<double>(power_count_); }
  bool hides(double step_wh, Duration span) const;

  Duration window_;
  Time began_{};
  double began_wh_ = 0;
  bool on_step_ = false;  // the window began as the gauge moved: by then it was exact
  // The last reading. Nullopt before the first.
  std::optional<Time> taken_;
  double energy_wh_ = 0;
  // The two largest changes from one reading to the next, the larger first, in this window and in
  // the last that had one. What was seen once may be a gauge that has calibrated itself.
  using Largest = std::array<double, 2>;
  Largest changes_wh_{};
  Largest changes_before_wh_{};
  double power_sum_w_ = 0;
  std::int64_t power_count_ = 0;
  std::optional<double> other_w_;
  bool full_ = false;              // at the last reading
  bool least_of_charger_ = false;  // other_w_ is that: the charger may give more
  std::optional<Reading> power_;   // the board's newest
  double flow_w_ = 0;              // beside the board's power, smoothed over some seconds
  std::optional<Time> flow_taken_;
};

}  // namespace gearshift

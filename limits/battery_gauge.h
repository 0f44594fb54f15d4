// What may be believed of a battery's readings: the energy that is surely left, whatever its gauge
// says or does not say.
#pragma once

#include <optional>
#include <string>

#include "controller/battery.h"

namespace gearshift {

// A reading that is missing, late or cannot be true is danger: what was last believed counts, less
// the most that can have been used since.
class BatteryGauge {
 public:
  // Energy is late when it is older than `stale_after`; gauges publish every 1 to 30 s.
  explicit BatteryGauge(Duration stale_after) : stale_after_(stale_after) {}

  // The most that the battery gives or takes, W: what changes faster is no reading of a battery.
  void set_most_w(double most_w) { most_w_ = most_w; }
  // Every reading of the tick; those of other quantities change nothing.
  void read(const Reading& reading);
  // Once a tick, behind its readings.
  void look(Time now);

  bool known() const { return believed_.known(); }
  // As last believed.
  const Battery& battery() const { return believed_; }
  // At the terminals, as read in the last 10 s.
  std::optional<double> voltage_v(Time now) const;
  // What is surely left at `now`, Wh; 0 where nothing was ever believed.
  double energy_wh(Time now) const;
  bool late(Time now) const { return !known() || now - believed_.taken > stale_after_; }
  // At the newest look.
  bool late() const { return !looked_ || late(*looked_); }
  // Late because nobody looked for a while, in which the machine may have slept; the answer of who
  // is asked over a network is to come. For 10 s, once: a gauge that was late before is not
  // awaited.
  bool awaited(Time now) const;
  // "the gauge was last read 45 s ago: 2.06 Wh are surely left", for people; empty where it is not
  // late.
  std::string complaint() const;
  // Of the full battery, Wh: as the gauge says, else as `given`, else the most that was ever left.
  double capacity_wh(double given) const;

 private:
  bool possible(double energy_wh, Time taken, const Battery& since) const;
  void judge_energy(const Reading& reading);
  void judge_capacity(const Reading& reading);

  Duration stale_after_;
  double most_w_ = 0;
  Battery believed_;
  double most_seen_wh_ = 0;
  // What cannot follow from what was believed, but agrees with itself: another battery, perhaps, or
  // a load that nobody knew of. It is believed after `stale_after`, and where it is more than was
  // believed after ten times that.
  std::optional<Battery> doubted_;
  Time doubted_since_{};
  // A capacity that is told another way than believed, without a break: the one of them that
  // changes least.
  struct DoubtedCapacity {
    double wh;
    Time since;
    Time newest;
  };
  std::optional<DoubtedCapacity> doubted_capacity_;
  std::optional<Time> looked_;
  std::optional<Time> awaited_since_;
};

}  // namespace gearshift

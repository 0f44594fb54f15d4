// Reads board power from the INA3221 monitors of a Jetson, by the board file's own total rule.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/clock.h"
#include "sensors/awaited_reason.h"
#include "sensors/sampler.h"

namespace gearshift {

// What a rail of the total that is dead from the start is taken to draw: this many times all living
// rails of the total together. By the board model no rail of an AGX Orin draws more in training,
// inference or with all cores busy; docs/decisions/0002-dead-rail.md has the figures and the case
// that is not covered.
inline constexpr std::int64_t kDeadRailShare = 2;

// Emits the board's total as power (channel 0) and each living rail as rail_power (channel: its
// index in the board file). Values are in mW: mV times mA, because the driver offers no power file.
//
// When a rail cannot be read:
// - at open, outside the total: it is left out, and nothing else changes;
// - at open, inside the total: the total is estimated (see kDeadRailShare), and every reading of it
//   says so, because a total without the rail would be too low and the guard would trust it;
// - later, outside the total: its own reading is missing;
// - later, inside the total: the last complete total is repeated with the time it was taken at
//   until it is `stale_after` old, then the total is missing. It returns with the rail.
// A total, or a rail, below 0 or above plausible_max_mw is absurd, and so is a total of 0. A
// current that is below 0 by no more than an idle rail can read (120 uV over its shunt: three steps
// of the chip) is 0.
//
// What cannot be read is looked for again about once a second, by its label: files that were open
// stay dead when the driver is bound anew, and hwmon numbers change.
//
// Where each file takes a conversion of the chip to read (430 ms on JetPack 5), a read makes those
// alone that the total cannot do without: the currents of its rails, the board file's first rail
// last, so that what moves most is newest. Voltages, which hardly move, and rails outside the total
// take turns, one file after every four currents; one too old counts as missing. The total carries
// the time of the oldest of its currents, so that it is of what was since then alone.
class Ina3221 : public BlockingSensor {
 public:
  // Looks for the board's rails on every ina3221 below /sys/class/hwmon by label, never by index,
  // because both hwmon numbers and bus numbers change between boots. Null where not one rail of
  // the total can be read; `findings` says what was found where, in either case.
  // `clock`, where reads block, must outlive the sensor; null: they do not.
  static std::unique_ptr<Ina3221> open(const PowerDescription& power, Sysroot& root,
                                       std::vector<std::string>& findings,
                                       const Clock* clock = nullptr);

  // One that has no rail, for `why`, until its monitors come: their driver may be loaded late. A
  // rail of the total that is not there by the third look then is dead from the start.
  static std::unique_ptr<Ina3221> awaited(const PowerDescription& power, Sysroot& root,
                                          std::string why, const Clock* clock = nullptr);

  // Fresh readings carry `now`, or where reads block the time that each is of.
  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;
  void interrupt() noexcept override { interrupted_.store(true, std::memory_order_relaxed); }

  // True when a rail of the total was dead at open.
  bool estimates() const { return found_.dead_in_total > 0; }

 private:
  struct Rail {
    std::uint8_t channel;
    std::string label;
    bool in_total;
    DeviceFile voltage_mv;
    DeviceFile current_ma;
    std::int64_t least_ma = 0;  // a current below 0 and not below this is 0
    // Of the newest read: errno, whether it came as far as the current, and what was read when.
    int error = 0;
    bool at_current = false;
    std::int64_t read_mv = 0;
    std::int64_t read_ma = 0;
    Time voltage_taken{};
    bool jumped = false;  // the voltage: once more it is believed
    Time taken{};         // the current
    bool absurd = false;
  };

  struct Found {
    std::vector<Rail> rails;
    int living_in_total = 0;
    int dead_in_total = 0;
  };

  static Found look(const PowerDescription& power, Sysroot& root,
                    std::vector<std::string>& findings);
  Ina3221(Found found, const PowerDescription& power, Sysroot& root, std::string why,
          const Clock* clock);
  void adopt(Found found);
  void look_again(Time now);
  void await_rails();
  void reopen_lost();
  Time time_or(Time now) const { return clock_ != nullptr ? clock_->now() : now; }
  void read_all(Time now);
  void read_in_turn(Time now);
  void read_aside();
  // With the rail's error set.
  void read_voltage(Rail& rail, Time now);
  void read_current(Rail& rail, Time now);
  // In uW, or nullopt with its error set.
  static std::optional<std::int64_t> power_uw(Rail& rail);
  Reading judged(Quantity quantity, std::uint8_t channel, std::int64_t power_uw, Time taken) const;
  void add_up(Time now, std::vector<Reading>& readings);

  Found found_;
  const PowerDescription power_;
  Sysroot& root_;
  AwaitedReason why_;  // there is no rail, where there is none
  const Clock* clock_;
  int currents_read_ = 0;  // since the newest read aside
  std::size_t aside_ = 0;  // whose turn it is
  std::optional<Time> looked_;
  int looks_ = 0;                    // that found some rails of the total, and not all
  std::optional<Reading> complete_;  // the last total that all living rails went into
  std::atomic<bool> interrupted_{false};
};

}  // namespace gearshift

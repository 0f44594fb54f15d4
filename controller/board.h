// A board as the loop sees it: sensors and actuators as one object, with asynchronous apply.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/actuator.h"
#include "controller/clock.h"
#include "controller/event.h"
#include "controller/knob.h"
#include "controller/sensor.h"

namespace gearshift {

// What the loop must know of a board beside its knobs.
struct BoardTraits {
  std::string name;
  Duration power_window{};     // "over the cap" is the mean over this
  Duration power_averaging{};  // a reading is a mean over this; zero: it is the newest value
  std::int64_t power_rounding_mw = 0;  // a reading is off by up to this: the sensor's own steps
  bool power_counts = false;  // a reading is what a counter grew by: the next makes its error good
  Duration stale_after{};     // a power reading older than this is danger
  Duration apply_timeout{};   // a mode that takes longer is timed_out
  std::vector<PowerMode> modes;   // lowest power first by the board's model
  std::optional<PowerMode> safe;  // held when nothing better is known; the lowest if not given
};

enum class ApplyState : std::uint8_t {
  idle,         // nothing was asked for yet
  applying,     // writes are left
  applied,      // every knob reads back what was wanted
  not_applied,  // written, but failure() tells which knob reads back something else
  refused,      // a write failed: failure() tells which ones, and the others have been made
  timed_out,    // hot-plug did not finish within apply_timeout
};

// A knob that another program moved; or a clock that the board throttles, which reads the same.
struct OutsideWrite {
  std::size_t knob = 0;
  std::int64_t ours = 0;
  std::int64_t theirs = 0;
};

// How a mode is reached where cores must go, which takes a tick each.
enum class Route : std::uint8_t {
  direct,
  // A step down: clocks fall to the safe mode's at once and come up again behind the last core, so
  // that power does not wait for the cores.
  low_clocks_first,
};

// Writes that reduce power go clocks, power limit, memory, hot-plug; writes that raise it go after
// them, in the opposite order. Hot-plug moves one core a call of advance(), so that the guard runs
// between two cores.
class Board {
 public:
  Board(std::unique_ptr<Actuator> actuator, std::vector<std::unique_ptr<Sensor>> sensors,
        BoardTraits traits);

  const KnobSpace& knobs() const { return actuator_->knobs(); }
  const BoardTraits& traits() const { return traits_; }
  const PowerMode& safe() const { return safe_; }

  // Appends the newest readings.
  void read(Time now, std::vector<Reading>& readings);
  // See Sensor.
  void look_closely(bool closely) {
    for (const auto& sensor : sensors_) sensor->look_closely(closely);
  }
  // Why the reading is missing; empty where no sensor says.
  std::string explain(const Reading& reading) const;

  // Starts to apply `mode` (must be in the knob space). Replaces an unfinished change.
  void begin(const PowerMode& mode, Time now, Route route = Route::direct);
  // Writes what can be written now and says how far the change is. Never throws KnobError: a
  // refused write is a state.
  ApplyState advance(Time now);
  ApplyState state() const { return state_; }
  // The mode that was begun last; of no values before the first.
  const PowerMode& wanted() const { return wanted_; }
  // The newest call of advance() found nobody who sets the knobs. The change waits in `applying`,
  // however long: begin() it again, for whoever comes back may have others in force.
  bool away() const { return away_; }
  // A change has ended, and a knob that could be read then cannot be read now.
  bool unreadable();
  // When the newest call of advance() moved the knobs: between its first write and its last, or its
  // `now` where it made none, or nobody looked at the clock.
  Time moved() const { return moved_; }
  // Whether the newest change had any knob to write: all may have read back as wanted.
  bool moves() const { return moves_; }
  std::string_view failure() const { return failure_; }
  Time began() const { return began_; }

  // The first knob that no longer reads back what it read when the last change ended.
  std::optional<OutsideWrite> outside_write();
  // The newest knob that another program had moved before a change began, or while it went on, and
  // that was written over; told once.
  std::optional<OutsideWrite> overwritten() { return std::exchange(overwritten_, std::nullopt); }
  std::string describe(const OutsideWrite& write) const;

  // See Actuator. Throw KnobError.
  void manage(std::int32_t pid, Kind kind) { actuator_->manage(pid, kind); }
  void restore() { actuator_->restore(); }

 private:
  PowerMode first_leg(Route route);
  void plan();
  ApplyState verify(Time now);
  void give_up(std::size_t knob, Time now);
  bool is_foreign(std::size_t knob, std::optional<std::int64_t> actual) const;
  void look_before_writes(Time now);
  void take_time_of_write();

  std::unique_ptr<Actuator> actuator_;
  std::vector<std::unique_ptr<Sensor>> sensors_;
  BoardTraits traits_;
  PowerMode safe_;

  ApplyState state_ = ApplyState::idle;
  PowerMode wanted_;
  PowerMode next_;  // on the way there; wanted_ on the last leg
  Time began_{};
  Time moved_{};
  bool moves_ = false;
  std::optional<Time> first_write_;             // of the call of advance() that goes on
  std::array<std::size_t, kMaxKnobs> order_{};  // knobs left to write, next first
  std::size_t left_ = 0;
  int verify_attempts_ = 0;
  Time mismatch_since_{};     // of the change, once verify_attempts_ is not 0
  bool refused_ = false;      // a write of this change failed; the others are still made
  bool moves_cores_ = false;  // it has moved some: their clocks may be others now
  std::array<std::optional<std::int64_t>, kMaxKnobs> seen_{};   // when the writes were planned
  std::array<std::optional<std::int64_t>, kMaxKnobs> wrote_{};  // last, of this change or before
  Time looked_at_{};
  bool away_ = false;
  bool write_goes_on_ = false;             // that of the first knob that is left
  std::optional<OutsideWrite> suspected_;  // unless the knob just follows late
  std::optional<OutsideWrite> overwritten_;
  std::array<std::optional<std::int64_t>, kMaxKnobs> expected_{};
  // The newest write was refused: the knob has what somebody else set, and may follow the load.
  std::array<bool, kMaxKnobs> foreign_{};
  std::string failure_;
};

}  // namespace gearshift

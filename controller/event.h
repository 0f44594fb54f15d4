// What reaches the loop from outside: minibatches, readings, and everything else as an Event.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "controller/clock.h"
#include "controller/goal.h"
#include "controller/setting.h"

namespace gearshift {

// A string of bounded length inside a trivially copyable value. Longer text is cut.
template <std::size_t N>
struct BoundedText {
  std::array<char, N> bytes{};
  std::uint16_t length = 0;

  BoundedText() = default;
  explicit BoundedText(std::string_view text)
      : length(static_cast<std::uint16_t>(text.size() < N ? text.size() : N)) {
    std::memcpy(bytes.data(), text.data(), length);
  }
  std::string_view view() const { return {bytes.data(), length}; }
};

// Readings.

enum class Quantity : std::uint8_t {
  power,             // mW of the whole board by its own total rule; the one the guard acts on
  rail_power,        // mW of one rail
  temperature,       // milli-degrees Celsius of one thermal zone
  battery_energy,    // mJ that are left in the battery
  battery_capacity,  // mJ of the full battery
  battery_voltage,   // mV at its terminals
  battery_current,   // mA out of it; negative while it charges
};

enum class ReadingState : std::uint8_t {
  ok,
  missing,
  absurd,
  off,  // the block that it is of is powered down, and has none
};

// A value, its unit (by quantity) and its time. Staleness is judged at use: now - taken.
struct Reading {
  Quantity quantity = Quantity::power;
  ReadingState state = ReadingState::missing;
  bool estimate = false;     // computed from a model, not read from a sensor
  std::uint8_t channel = 0;  // rail or zone index in the sensor's own order
  std::int64_t value = 0;    // in the quantity's unit; meaningless unless state is ok
  Time taken{};              // when the read ended
};

// Workloads.

using WorkloadHandle = std::uint32_t;  // given at attach, not used again while the daemon lives
inline constexpr std::size_t kMaxBatchSizes = 32;

// What a workload said of itself in its hello.
struct Workload {
  WorkloadHandle handle = 0;
  Kind kind = Kind::train;
  bool managed = false;         // false: a second workload of its kind, observed only
  std::int32_t pid = 0;         // 0 where the client gave none that its user owns
  std::int32_t batch_size = 0;  // in use at attach, samples
  std::array<std::int32_t, kMaxBatchSizes> batch_sizes{};  // allowed, lowest first
  std::uint8_t batch_size_count = 0;
  std::int64_t samples_per_epoch = 0;  // 0: unknown
  Duration latency{};  // that its requests must be answered within; 0: it did not say
  bool saves = false;  // its work, when it is asked to
  BoundedText<64> name;

  std::span<const std::int32_t> allowed() const { return {batch_sizes.data(), batch_size_count}; }
  bool offers(std::int32_t wanted) const {
    return wanted == batch_size ||
           std::find(allowed().begin(), allowed().end(), wanted) != allowed().end();
  }
};

// One minibatch as the client timed it. Durations are the client's, `received` is ours.
struct Minibatch {
  WorkloadHandle workload = 0;
  Kind kind = Kind::train;
  std::int32_t batch_size = 0;     // samples
  std::uint32_t set_sequence = 0;  // of the last `set` command that was in force; 0: none yet
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;  // the client's own count of minibatches
  Duration elapsed{};          // end to end, fetch included
  Duration fetch_stall{};      // visible wait for data
  Duration compute{};          // forward, backward and launch time
  Time received{};
};

// What became of an inference workload's requests since its last such report. Durations are the
// client's, of requests from their arrival to their answer.
struct RequestReport {
  WorkloadHandle workload = 0;
  std::uint64_t sequence = 0;      // the client's own count of these reports
  std::uint32_t set_sequence = 0;  // of the last `set` command that was in force; 0: none yet
  Duration span{};                 // that the report covers
  std::uint32_t arrived = 0;
  std::uint32_t served = 0;
  std::uint32_t late = 0;     // answered after the latency limit, refused or dropped
  std::uint32_t refused = 0;  // of them, those refused or dropped: never answered
  std::uint32_t queued = 0;   // that wait now
  Duration latency_p50{};     // of those served; 0 where none was
  Duration latency_p95{};
  Duration latency_p99{};
  Duration latency_max{};
  Time received{};
};

// Events.

// Why a workload is detached that said so itself; any other way it may work on.
inline constexpr std::string_view kSaidBye = "bye";

enum class EventType : std::uint8_t {
  attached,        // workload
  detached,        // handle; text = why ("bye", "silent for 5 s", "connection replaced")
  minibatch,       // minibatch
  requests,        // requests: how an inference workload's requests fared
  applied,         // handle, set_sequence, batch_size: a workload runs with the setting from now on
  refused,         // handle, set_sequence, batch_size: of the command; it will not; text = its code
                   // ("batch_size", "memory", ...), a colon, and why
  saved,           // handle, set_sequence: of the checkpoint; text = how long it took
  unsaved,         // handle, set_sequence: of the checkpoint; text = why it could not
  cap,             // power_mw; 0 lifts the operator's cap
  goal,            // goal: the operator changes what is minimised
  script_changed,  // World::script() has a new text
  stop,            // signal number, or 0 for a stop command; text = who asked
};

struct Event {
  EventType type = EventType::stop;
  WorkloadHandle handle = 0;
  std::int32_t batch_size = 0;
  std::uint32_t set_sequence = 0;
  std::int32_t signal = 0;
  std::int64_t power_mw = 0;
  Minibatch minibatch;
  RequestReport requests;
  Workload workload;
  GoalChange goal;
  BoundedText<96> text;
};
static_assert(std::is_trivially_copyable_v<Event> && std::is_trivially_copyable_v<Reading>);

// An urgent event ends the wait at once; the others are collected until the tick's deadline.
constexpr bool urgent(EventType type) {
  return type != EventType::minibatch && type != EventType::detached;
}

// At most this many events are drained a tick, so that a flood cannot starve the guard.
inline constexpr std::size_t kMaxEventsPerTick = 256;

}  // namespace gearshift

// What can be set on a board: the knobs, their allowed values, and one value of each (a power
// mode).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gearshift {

inline constexpr std::size_t kMaxKnobs = 8;

// The smallest unit a knob's integers count in. People read and write MHz and W (see unit_scale).
enum class Unit : std::uint8_t { count, khz, mw, percent };

// What a write to the knob moves; orders the writes of one change (see Board).
enum class KnobClass : std::uint8_t { clock, power_limit, memory, hotplug };

// One knob. `name` is what people and scripts write: cpu_cores, cpu_mhz, gpu_mhz, mem_mhz,
// power_limit_w.
struct Knob {
  std::string name;
  Unit unit = Unit::count;
  KnobClass knob_class = KnobClass::clock;
  std::vector<std::int64_t> values;  // allowed values in `unit`, lowest first, at least one
  bool follows_cores = false;  // cores that come or go move it too: no other program need have
};

// A knob of the board file that cannot be set here, and why ("EACCES: run as root").
struct AbsentKnob {
  std::string name;
  std::string reason;
};

// How many of the knob's integer units make one of the units people read: 1000 kHz a MHz, 1000 mW a
// W.
constexpr double unit_scale(Unit unit) {
  return unit == Unit::khz || unit == Unit::mw ? 1000.0 : 1.0;
}
std::string_view unit_name(Unit unit);  // "", "MHz", "W", "%": the unit people read
// The value in the unit people read, without the unit's name: 1300500 kHz is "1300.5".
std::string describe_value(Unit unit, std::int64_t value);

// One value a knob, in the knob's own integer unit, indexed like KnobSpace::knobs.
struct PowerMode {
  std::array<std::int64_t, kMaxKnobs> values{};
  std::uint8_t count = 0;

  friend bool operator==(const PowerMode&, const PowerMode&) = default;
};

// All knobs of a board, in the board file's order. At most kMaxKnobs.
struct KnobSpace {
  std::vector<Knob> knobs;

  std::size_t size() const { return knobs.size(); }
  std::optional<std::size_t> find(std::string_view name) const;
  // True when `mode` has one allowed value for every knob.
  bool contains(const PowerMode& mode) const;
  PowerMode lowest() const;
  PowerMode highest() const;
  // The product of the knobs' value counts.
  std::size_t mode_count() const;
  // "cpu_cores=12 cpu_mhz=2201.6 gpu_mhz=1300.5 mem_mhz=3199", in the units people read.
  std::string describe(const PowerMode& mode) const;
};

}  // namespace gearshift

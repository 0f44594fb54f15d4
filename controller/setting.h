// A setting: everything a policy may decide at once (power mode, batch size of each kind, what
// runs).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "controller/knob.h"

namespace gearshift {

// What a workload does; indexes arrays of kKinds. One managed workload a kind.
enum class Kind : std::uint8_t { train, infer };
inline constexpr std::size_t kKinds = 2;
constexpr std::size_t index(Kind kind) { return static_cast<std::size_t>(kind); }
constexpr std::string_view kind_name(Kind kind) { return kind == Kind::train ? "train" : "infer"; }

// Which of the managed workloads run; the other one waits between two minibatches.
enum class Run : std::uint8_t { train, infer, both };
constexpr std::string_view run_name(Run run) {
  return run == Run::train ? "train" : run == Run::infer ? "infer" : "both";
}
constexpr bool runs(Run run, Kind kind) {
  return run == Run::both || (run == Run::train) == (kind == Kind::train);
}

struct Setting {
  PowerMode mode;
  std::array<std::int32_t, kKinds>
      batch_size{};  // samples; 0 where no workload of the kind is managed
  Run run = Run::both;

  friend bool operator==(const Setting&, const Setting&) = default;
};

std::size_t hash(const Setting& setting);

}  // namespace gearshift

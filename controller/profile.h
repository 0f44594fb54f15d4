// A measured table: what each setting of one workload on one board cost.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/setting.h"

namespace gearshift {

// The time of a minibatch that was not measured: infinite, so that naive comparisons reject it.
inline constexpr double kNotTimed = std::numeric_limits<double>::infinity();

// One row: a power mode and a batch size, and what a minibatch cost there.
struct ProfileCell {
  PowerMode mode;
  std::int32_t batch_size = 0;    // samples
  double minibatch_ms = 0;        // kNotTimed where only epochs were measured
  double power_w = 0;             // mean power of the board
  std::optional<double> epoch_s;  // where it was measured

  bool timed() const { return minibatch_ms < kNotTimed; }
  friend bool operator==(const ProfileCell&, const ProfileCell&) = default;
};

// The cells of one (device, workload, kind), in the order of the file. A value: readers hand it out
// by const reference.
class Profile {
 public:
  std::string device;
  std::string workload;
  Kind kind = Kind::train;

  // `knobs` has the knobs that were varied or told, each with the values that occur, lowest first.
  explicit Profile(KnobSpace knobs = {}) : knobs_(std::move(knobs)) {}

  const KnobSpace& knobs() const { return knobs_; }
  const std::vector<ProfileCell>& cells() const { return cells_; }
  // Batch sizes that occur, lowest first.
  const std::vector<std::int32_t>& batch_sizes() const { return batch_sizes_; }
  // False, and nothing changes, where the setting has a cell already or its mode is not in knobs().
  bool add(const ProfileCell& cell);
  // Null where the setting was not measured.
  const ProfileCell* find(const PowerMode& mode, std::int32_t batch_size) const;

 private:
  struct Key {
    PowerMode mode;
    std::int32_t batch_size = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  KnobSpace knobs_;
  std::vector<ProfileCell> cells_;
  std::vector<std::int32_t> batch_sizes_;
  std::unordered_map<Key, std::size_t, KeyHash> index_;  // lookup only, never iterated
};

}  // namespace gearshift

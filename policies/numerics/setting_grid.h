// Every setting that a search may choose: all values of the board's knobs, and of the batch size of
// the workload it searches for. Numbered from 0, so that thousands of them are predicted as plain
// lists.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "boards/board_model.h"
#include "controller/policy.h"

namespace gearshift {

// More settings than this are thinned out: the dimension with most values loses every other one,
// never its first or last, until no more are left. To predict one takes about a microsecond, and a
// decision no more than 25 ms of a core at full clocks.
inline constexpr std::size_t kMostGridSettings = 24'576;

class SettingGrid {
 public:
  static constexpr std::size_t kDimensions = kMaxKnobs + 1;  // the last is the batch size
  using Position = std::array<std::uint16_t, kDimensions>;   // of a value in each dimension

  // Of the settings that measure `kind`, by default that of `context` (training where both are
  // attached); the other kind keeps its batch size.
  // `highest` has the clocks of knobs that the board lacks. There is a workload.
  SettingGrid(const PolicyContext& context, const ModelMode& highest,
              std::size_t most = kMostGridSettings, std::optional<Kind> kind = std::nullopt);

  std::size_t size() const { return size_; }
  Kind kind() const { return kind_; }
  // Dimensions in use; those behind have one value.
  std::size_t dimensions() const { return knobs_ + 1; }
  // Values that the dimension has here.
  const std::vector<std::int64_t>& values(std::size_t dimension) const {
    return values_[dimension];
  }

  // Of the last dimension, which runs fastest: number % batch_sizes().size().
  const std::vector<std::int64_t>& batch_sizes() const { return values_[knobs_]; }

  Position position(std::size_t number) const;
  std::size_t number(const Position& position) const;
  Setting setting(std::size_t number) const;
  // Nullopt where the setting is not on the grid: thinned out, or another batch size or run.
  std::optional<std::size_t> find(const Setting& setting) const;
  ModelMode mode(std::size_t number) const;  // as the cost model takes it
  double batch_size(std::size_t number) const;
  // Of any setting, on the grid or not.
  ModelMode mode(const Setting& setting) const;

 private:
  void thin(std::size_t most);
  void set_clock(ModelMode& mode, std::size_t knob, std::int64_t value) const;

  Kind kind_ = Kind::train;
  Setting base_;  // what all settings have in common
  std::size_t knobs_ = 0;
  std::array<std::vector<std::int64_t>, kDimensions> values_;
  std::array<double ModelMode::*, kMaxKnobs> clock_{};  // null: the model does not know the knob
  std::array<double, kMaxKnobs> scale_{};               // what its values are divided by
  ModelMode highest_;
  std::size_t size_ = 0;
};

}  // namespace gearshift

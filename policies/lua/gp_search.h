// What the Lua table gp knows of every setting: the beliefs of one run of a script.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "boards/board_model.h"
#include "controller/policy.h"
#include "policies/numerics/applied_odds.h"
#include "policies/numerics/cost_process.h"
#include "policies/numerics/interleaved_process.h"
#include "policies/numerics/setting_grid.h"
#include "policies/numerics/smooth_values.h"

namespace gearshift {

// Whether the goal is most training beside inference, and both are there.
bool interleaves(const PolicyContext& context);

// What gp knows in one run of a script: made at its first use, gone with the script's state. It
// lies outside the memory of Lua; kMostGpSettings bounds it.
inline constexpr std::size_t kMostGpSettings = 32'768;
inline constexpr std::size_t kMostInterleaved = 16'384;  // settings, beside all modes
struct GpSearch {
  // `context` has a workload.
  GpSearch(const PolicyContext& context, const BoardModel* board);

  // Of interleaving: the modes with the training batch size, and what is believed of both.
  struct Interleaved {
    Interleaved(const PolicyContext& context, const BoardModel* board, SettingGrid modes,
                const SettingGrid& infer_grid, CostProcess infer);

    SettingGrid train_grid;
    InterleavedProcess process;
  };

  // Of interleaving, inference while training waits: its power is less, by the pauses between
  // requests, and so is not learnt together with what both draw.
  struct Alone {
    explicit Alone(const CostProcess& inference) : process(inference) {}

    CostProcess process;
    bool conditioned = true;
  };
  // Made at its first use; only where training beside inference is the goal.
  Alone& serving_alone();

  // The number of a setting in which inference runs while training waits; nullopt: of no such.
  std::optional<std::size_t> find_alone(Setting setting) const;

  // One entry a setting, of those in which training waits or of the others: not 0 where it is
  // known, or hardly likely to come into force.
  std::vector<std::uint8_t> left_out(bool waiting) const;

  // Marks one of `known` or `known_alone`, and where it ran those that differ from it by
  // nothing but a quota of more processor time than there are cores, which costs the same.
  void mark_known(std::vector<std::uint8_t>& marks, std::size_t setting, bool ran) const;

  SettingGrid grid;  // of interleaving that of inference
  // One of the two: interleaved where most training beside inference is the goal.
  std::unique_ptr<CostProcess> process;
  std::unique_ptr<Interleaved> interleaved;
  std::unique_ptr<Alone> alone;
  SmoothValues smooth;
  std::vector<std::uint8_t> known;  // one a setting: 1 where it was learnt, or `measure` knows it
  std::vector<std::uint8_t> known_alone;  // the same where training waits
  std::optional<CostCentre::Quota> quota;
  AppliedOdds applied;      // of settings that the board would not take
  bool conditioned = true;  // nothing was learnt since
  // Sums over the answers with a power: of their noise margins relative to it, and their number.
  double margins = 0;
  std::size_t margin_count = 0;
  // Their mean, bounded: where batches are few and large, as of one setting, windows of power are
  // of some or none, and other settings are not ruled out by that. 0 before the first.
  double margin() const {
    constexpr double kMost = 0.15;
    return margin_count > 0 ? std::min(kMost, margins / static_cast<double>(margin_count)) : 0;
  }
};

}  // namespace gearshift

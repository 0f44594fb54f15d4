// What a setting truly costs a workload on a simulated board: by a measured table or by the model.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "boards/board_description.h"
#include "boards/cost_model.h"
#include "controller/profile.h"
#include "simulator/rail_power.h"

namespace gearshift {

// What becomes of a setting that the profile has no cell for.
enum class Missing : std::uint8_t {
  refuse,   // the board refuses it
  nearest,  // it costs what the nearest cell costs
  model,    // it costs what the board model says
};
// Throws std::invalid_argument that names the text and what is allowed.
Missing parse_missing(std::string_view text);

enum class CostOrigin : std::uint8_t { exact, nearest, model };

struct TrueCost {
  double minibatch_ms = 0;
  double gpu_ms = 0;          // of it: forward, backward and launch; 0 where it is not known
  double fetch_stall_ms = 0;  // of it
  double power_w = 0;         // mean power of the board while the workload runs
  CostOrigin origin = CostOrigin::exact;
};

// Const once built, so that several simulations may share one.
class CostSource {
 public:
  virtual ~CostSource() = default;
  // Nullopt: the setting is missing, and refused.
  virtual std::optional<TrueCost> cost(const PowerMode& mode, std::int32_t batch_size) const = 0;
  // Of a mode that the board only passes through on its way to another: any number of cores, any
  // mixture of old and new clocks.
  virtual TrueCost passing(const PowerMode& mode, std::int32_t batch_size) const = 0;
  // Power of the board where nothing runs.
  virtual double idle_power_w(const PowerMode& mode) const = 0;
  // That power by rail, of a passing mode too; nullopt as the batch size: of the idle board.
  virtual RailPower rails(const PowerMode& mode, std::optional<std::int32_t> batch_size) const = 0;
};

// By the analytical board model.
class ModelCosts : public CostSource {
 public:
  // All must outlive the costs. The modes asked for are modes of `knobs`; what the board has beside
  // them counts as at its highest. Throws std::invalid_argument where the board has no model.
  ModelCosts(const BoardDescription& board, const KnobSpace& knobs,
             const WorkloadParameters& workload);
  std::optional<TrueCost> cost(const PowerMode& mode, std::int32_t batch_size) const override;
  TrueCost passing(const PowerMode& mode, std::int32_t batch_size) const override;
  double idle_power_w(const PowerMode& mode) const override;
  RailPower rails(const PowerMode& mode, std::optional<std::int32_t> batch_size) const override;

 private:
  const BoardDescription& board_;
  const KnobSpace& knobs_;
  const WorkloadParameters& workload_;
  ModelMode fallback_;
};

// By a measured table. The nearest cell is the one whose knobs differ least in ratio (the least sum
// of squared logarithms), among those of the same batch size where there are any; the first of the
// table where two are equally near. A cell that was not timed counts as none.
class ProfileCosts : public CostSource {
 public:
  // `profile` outlives the costs, as does `model`, which Missing::model needs. Throws
  // std::invalid_argument that names the profile where none of its cells was timed.
  ProfileCosts(const Profile& profile, Missing missing, const CostSource* model = nullptr);
  std::optional<TrueCost> cost(const PowerMode& mode, std::int32_t batch_size) const override;
  TrueCost passing(const PowerMode& mode, std::int32_t batch_size) const override;
  // No profile says: half of what the workload draws there.
  double idle_power_w(const PowerMode& mode) const override;
  // No profile says either: all of it goes through one rail of the input's voltage.
  RailPower rails(const PowerMode& mode, std::optional<std::int32_t> batch_size) const override;
  // The timed cell nearest to a setting, which stands in for it where it is missing.
  const ProfileCell& nearest(const PowerMode& mode, std::int32_t batch_size) const;

 private:
  using Place = std::array<double, kMaxKnobs + 1>;  // logarithms; the batch size is the last

  Place place_of(const PowerMode& mode, std::int32_t batch_size) const;

  const Profile& profile_;
  const Missing missing_;
  const CostSource* model_;
  struct Placed {
    Place place;
    std::size_t cell = 0;  // by its index
  };
  std::vector<Placed> places_;  // the timed cells, in the order of the table
};

}  // namespace gearshift

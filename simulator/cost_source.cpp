#include "simulator/cost_source.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

constexpr double kIdleShare = 0.5;

TrueCost measured(const ProfileCell& cell, CostOrigin origin) {
  return {.minibatch_ms = cell.minibatch_ms,
          .gpu_ms = 0,
          .fetch_stall_ms = 0,
          .power_w = cell.power_w,
          .origin = origin};
}

}  // namespace

Missing parse_missing(std::string_view text) {
  if (text == "refuse") return Missing::refuse;
  if (text == "nearest") return Missing::nearest;
  if (text == "model") return Missing::model;
  throw std::invalid_argument("'" + std::string(text) + "': allowed are refuse, nearest and model");
}

ModelCosts::ModelCosts(const BoardDescription& board, const KnobSpace& knobs,
                       const WorkloadParameters& workload)
    : board_(board), knobs_(knobs), workload_(workload) {
  if (!board.model) throw std::invalid_argument(board.id + ": the board file has no [model]");
  const KnobSpace whole = board.knob_space();
  fallback_ = model_mode(whole, whole.highest(), {});
}

std::optional<TrueCost> ModelCosts::cost(const PowerMode& mode, std::int32_t batch_size) const {
  return passing(mode, batch_size);
}

TrueCost ModelCosts::passing(const PowerMode& mode, std::int32_t batch_size) const {
  const MinibatchCost cost =
      minibatch_cost(board_.parameters(workload_.kind), workload_.demand(batch_size),
                     model_mode(knobs_, mode, fallback_));
  return {.minibatch_ms = cost.minibatch_ms,
          .gpu_ms = cost.gpu_ms,
          .fetch_stall_ms = cost.fetch_stall_ms,
          .power_w = cost.power_w,
          .origin = CostOrigin::exact};
}

double ModelCosts::idle_power_w(const PowerMode& mode) const {
  return gearshift::idle_power_w(board_.parameters(workload_.kind),
                                 model_mode(knobs_, mode, fallback_));
}

RailPower ModelCosts::rails(const PowerMode& mode, std::optional<std::int32_t> batch_size) const {
  std::optional<Demand> demand;
  if (batch_size) demand = workload_.demand(*batch_size);
  return rail_power(board_.parameters(workload_.kind), demand, model_mode(knobs_, mode, fallback_));
}

ProfileCosts::ProfileCosts(const Profile& profile, Missing missing, const CostSource* model)
    : profile_(profile), missing_(missing), model_(model) {
  assert(missing != Missing::model || model != nullptr);
  places_.reserve(profile.cells().size());
  for (std::size_t i = 0; i < profile.cells().size(); ++i) {
    const ProfileCell& cell = profile.cells()[i];
    if (cell.timed()) places_.push_back({place_of(cell.mode, cell.batch_size), i});
  }
  if (places_.empty()) {
    throw std::invalid_argument(
        profile.workload + " (" + std::string(kind_name(profile.kind)) + "): none of its " +
        std::to_string(profile.cells().size()) +
        " settings has a time of a minibatch; give a measured table with a column minibatch_ms");
  }
}

std::optional<TrueCost> ProfileCosts::cost(const PowerMode& mode, std::int32_t batch_size) const {
  const ProfileCell* cell = profile_.find(mode, batch_size);
  if (cell != nullptr && cell->timed()) return measured(*cell, CostOrigin::exact);
  switch (missing_) {
    case Missing::refuse:
      return std::nullopt;
    case Missing::nearest:
      return measured(nearest(mode, batch_size), CostOrigin::nearest);
    case Missing::model:
      break;
  }
  std::optional<TrueCost> filled = model_->cost(mode, batch_size);
  if (filled) filled->origin = CostOrigin::model;
  return filled;
}

TrueCost ProfileCosts::passing(const PowerMode& mode, std::int32_t batch_size) const {
  return measured(nearest(mode, batch_size), CostOrigin::nearest);
}

double ProfileCosts::idle_power_w(const PowerMode& mode) const {
  return kIdleShare * nearest(mode, profile_.batch_sizes().front()).power_w;
}

RailPower ProfileCosts::rails(const PowerMode& mode, std::optional<std::int32_t> batch_size) const {
  const auto known = batch_size ? cost(mode, *batch_size) : std::nullopt;
  RailPower power;
  power[Rail::gpu_soc] = 1000 * (known        ? known->power_w
                                 : batch_size ? passing(mode, *batch_size).power_w
                                              : idle_power_w(mode));
  return power;
}

ProfileCosts::Place ProfileCosts::place_of(const PowerMode& mode, std::int32_t batch_size) const {
  Place place{};
  const auto logarithm = [](std::int64_t value) {
    return std::log(static_cast<double>(std::max<std::int64_t>(value, 1)));
  };
  for (std::size_t i = 0; i < mode.count; ++i) place[i] = logarithm(mode.values[i]);
  place[kMaxKnobs] = logarithm(batch_size);
  return place;
}

const ProfileCell& ProfileCosts::nearest(const PowerMode& mode, std::int32_t batch_size) const {
  const ProfileCell* const exact = profile_.find(mode, batch_size);
  if (exact != nullptr && exact->timed()) return *exact;
  // Farther than any difference of knobs: another batch size is taken only where there is no cell
  // of this one.
  constexpr double kOtherBatch = 1e6;
  const Place wanted = place_of(mode, batch_size);
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = places_.front().cell;
  for (const auto& [place, cell] : places_) {
    double distance = 0;
    for (std::size_t knob = 0; knob < mode.count; ++knob) {
      const double off = place[knob] - wanted[knob];
      distance += off * off;
    }
    if (profile_.cells()[cell].batch_size != batch_size) {
      const double off = place[kMaxKnobs] - wanted[kMaxKnobs];
      distance += kOtherBatch * (1 + off * off);
    }
    if (distance < least) {
      least = distance;
      best = cell;
    }
  }
  return profile_.cells()[best];
}

}  // namespace gearshift

#include "cli/predicted_grid.h"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "boards/board_description.h"
#include "cli/select_board.h"
#include "policies/powertrain/known_batch_sizes.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

void check_count(const std::string& name, std::size_t modes, std::size_t batch_sizes) {
  if (modes * batch_sizes > kMostProfileRows) {
    throw std::runtime_error(name + ": " + std::to_string(modes) + " modes and " +
                             std::to_string(batch_sizes) +
                             " batch sizes are more than a profile takes; give a profile with the "
                             "settings");
  }
}

// Every mode of the space, the last knob fastest.
std::vector<PowerMode> all_modes(const KnobSpace& space) {
  std::vector<PowerMode> modes = {space.lowest()};
  for (std::size_t i = 0; i < space.size(); ++i) {
    std::vector<PowerMode> wider;
    for (const PowerMode& mode : modes) {
      for (const std::int64_t value : space.knobs[i].values) {
        wider.push_back(mode);
        wider.back().values[i] = value;
      }
    }
    modes = std::move(wider);
  }
  return modes;
}

std::vector<PredictedSetting> with_batch_sizes(const std::vector<PowerMode>& modes,
                                               const std::vector<std::int32_t>& sizes) {
  std::vector<PredictedSetting> settings;
  for (const std::int32_t size : sizes) {
    for (const PowerMode& mode : modes) settings.push_back({mode, size});
  }
  return settings;
}

template <typename Named>
std::string name_of(const Named& named) {
  return named.device + ' ' + named.workload;
}

std::string doing(Kind kind) { return kind == Kind::train ? "training" : "inference"; }

}  // namespace

PredictedGrid grid_of_profile(const Profile& profile, const Predictor& predictor) {
  for (const std::int32_t size : profile.batch_sizes()) {
    if (knows_batch_size(predictor, size)) continue;
    throw std::runtime_error(name_of(profile) + ": batch size " + std::to_string(size) +
                             ", and the model of " + name_of(predictor) + " knows " +
                             known_batch_sizes(predictor) +
                             "; give a profile of what it knows, or a model that learnt from that "
                             "batch size (gearshift powertrain train, transfer)");
  }
  PredictedGrid grid{profile.device, profile.knobs(), {}};
  for (const ProfileCell& cell : profile.cells()) {
    grid.settings.push_back({cell.mode, cell.batch_size});
  }
  return grid;
}

PredictedGrid grid_of_board(const std::string& board, const Predictor& predictor) {
  const BoardDescription description = select_board(board, Sysroot("/"));
  const KnobSpace knobs = description.knob_space();
  const std::vector<PowerMode> modes = modes_by_power(description, knobs);
  check_count(board, modes.size(), predictor.batch_sizes.size());
  return {description.id, knobs, with_batch_sizes(modes, predictor.batch_sizes)};
}

PredictedGrid grid_of_model(const Predictor& predictor) {
  const std::size_t count = bounded_mode_count(predictor.knobs);
  check_count(predictor.device + ' ' + predictor.workload, count, predictor.batch_sizes.size());
  if (count > kMaxModes) {
    throw std::runtime_error(predictor.device + ' ' + predictor.workload + ": more than " +
                             std::to_string(kMaxModes) +
                             " modes; give a profile with the settings");
  }
  return {predictor.device, predictor.knobs,
          with_batch_sizes(all_modes(predictor.knobs), predictor.batch_sizes)};
}

void require_same_kind(const Profile& measured, const Predictor& predictor) {
  if (measured.kind == predictor.kind) return;
  throw std::runtime_error(name_of(measured) + ": a profile of " + doing(measured.kind) +
                           ", and the model of " + name_of(predictor) + " is of " +
                           doing(predictor.kind) + "; give two of one kind");
}

}  // namespace gearshift

// Fits what a workload demands to measured settings, given the board's own parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "boards/board_description.h"
#include "controller/profile.h"

namespace gearshift {

// One measured setting.
struct FitCell {
  ModelMode mode;
  double batch_size = 0;
  double minibatch_ms = 0;
  double power_w = 0;
};

// Relative errors of a prediction, 0.05 is 5 %: mean, median and 90th percentile of their sizes.
struct FitError {
  double mean = 0;
  double median = 0;
  double p90 = 0;
};

struct CostError {
  std::size_t cells = 0;
  FitError time;
  FitError power;
};

// The timed cells of a profile, in its order; a knob that the profile lacks is at the board's
// highest.
std::vector<FitCell> fit_cells(const BoardDescription& board, const Profile& profile);

struct ModelFit {
  WorkloadParameters workload;
  CostError error;  // on the cells of the fit themselves
};

inline constexpr std::size_t kLeastFitCells = 3;
inline constexpr std::size_t kMostFitCells = 10'000;

// A B L P O and kg of `start`, fitted to the cells; its kind, workers, fetch, reference batch and
// a0 are kept. Inference over several batch sizes fits both parts of each, and S per sample; else
// the one part that the cells can tell: all of it per sample. Training over several batch sizes
// fits a0 too.
//
// Levenberg-Marquardt on the logarithms of the parameters, over the log residuals of time and power
// with a loss that grows linearly beyond 10 %, so that a wrong reading does not decide. It starts
// from guesses in which one resource after the other takes the time, not from the numbers in
// `start`; the best of them wins, the first one of equals. No randomness: equal cells give equal
// bytes. Ten cells take 2 to 3 ms. Throws std::invalid_argument for fewer than
// kLeastFitCells or more than kMostFitCells, or a cell whose numbers are not above 0 and finite.
ModelFit fit_workload(const DeviceParameters& device, std::span<const FitCell> cells,
                      const WorkloadParameters& start);

// How far the model is off on cells.
CostError cost_error(const DeviceParameters& device, const WorkloadParameters& workload,
                     std::span<const FitCell> cells);

// Indices of `count` cells spread over clocks, cores and batch sizes, ascending; all of them where
// there are no more. The first is drawn, each other one is that of 16 drawn cells which is farthest
// from those taken.
std::vector<std::size_t> spread_cells(std::span<const FitCell> cells, std::size_t count,
                                      std::uint64_t seed);

}  // namespace gearshift

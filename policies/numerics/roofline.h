// A workload's demands in the board's cost model, estimated from a few measured settings, with how
// sure they are: what a script's predictions rest on.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "boards/cost_gradient.h"
#include "boards/cost_model.h"

namespace gearshift {

// What one setting was measured to cost.
struct RooflineRow {
  ModelMode mode;
  double batch_size = 0;
  double minibatch_ms = 0;  // 0: not known, only that power is above power_w
  double power_w = 0;       // 0: not known, only the time: of what was cut short for late requests
  bool slower = false;      // than minibatch_ms, which is all that is known of its time
};

// More rows than this say little more.
inline constexpr std::size_t kMostRooflineRows = 64;
// Above so many, fewer beginnings are tried, at less than half of the time a row.
inline constexpr std::size_t kManyRooflineRows = 24;
inline constexpr std::size_t kMostDemandParameters = 12;

// What is not estimated.
struct WorkloadShape {
  Kind kind = Kind::train;
  double workers = 4;  // loader workers: what trainers commonly take, and all measured ones did
  double fetch_ms = 0;
  double reference_batch = 16;
};

// The natural logarithms of the parameters of WorkloadParameters, for training
//   A B L P O a0 kg scale
// and for inference, whose demands are affine in the batch size,
//   A B L P O (per sample)  A B L P O (constant)  kg scale
// where `scale` is what the board's sensor shows over what the model says.
struct RooflineEstimate {
  WorkloadShape shape;
  std::array<double, kMostDemandParameters> logs{};
  std::array<double, kMostDemandParameters * kMostDemandParameters> covariance{};
  // Standard deviations of what measurements were off, once the outliers were given little weight.
  double time_noise = 0;
  double power_noise = 0;
  std::size_t rows = 0;
  std::size_t doubted = 0;  // rows that hardly counted: off by more than three deviations
  double time_error = 0;    // mean relative error over the rows with a time
  double power_error = 0;

  std::size_t count() const { return shape.kind == Kind::train ? 8 : 12; }
  WorkloadParameters workload() const;
  double power_scale() const;
};
static_assert(std::is_trivially_copyable_v<RooflineEstimate>);

// Logarithms of time in ms and of power in W, with the standard deviations of what a measurement
// would show: what the estimate does not know, and noise.
struct RooflinePrediction {
  double log_time = 0;
  double log_power = 0;
  double time_deviation = 0;
  double power_deviation = 0;
};

// The estimate that is most likely given the rows and what was expected before: demands near those
// of `expected`, another workload's estimate, or near nothing in particular where that is null. So
// it takes any number of rows, from none; what they cannot tell stays as expected, and unsure.
//
// Residuals of log time and log power are Student-t distributed, with one weight for both of a row:
// a mode that was not applied is off in both, and counts for little. Demands are expected to differ
// by a common factor and by factors of their own. The scale of power stays near 1 unless the rows
// clearly say otherwise (a Cauchy distribution). Levenberg-Marquardt from `expected` and from
// guesses in which one resource after the other takes the time, two of them where
// there are many rows; no randomness. Ten rows take about 1 ms.
//
// Rows have clocks, batch size and power above 0 and finite; there are at most kMostRooflineRows.
RooflineEstimate fit_roofline(const DeviceParameters& device, std::span<const RooflineRow> rows,
                              const WorkloadShape& shape,
                              const RooflineEstimate* expected) noexcept;

// Predicts one mode after another for one batch size, at less than a microsecond each.
class RooflinePredictor {
 public:
  RooflinePredictor(const DeviceParameters& device, const RooflineEstimate& estimate,
                    double batch_size);
  RooflinePrediction predict(const ModelMode& mode) const noexcept;

 private:
  DeviceParameters device_;
  Demand demand_;  // of the batch size
  double log_scale_ = 0;
  double time_noise_ = 0;
  double power_noise_ = 0;
  // Of the logarithms of the demands of this batch size, and last of the scale of power.
  std::array<double, (kDemands + 1) * (kDemands + 1)> covariance_{};
};

}  // namespace gearshift

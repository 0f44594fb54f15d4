// What is believed of training and inference that share an accelerator: two cost processes, taught
// by measurements in which both ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "controller/goal.h"
#include "policies/numerics/cost_process.h"
#include "policies/numerics/setting_grid.h"

namespace gearshift {

// One measured setting of the inference grid. Noise is relative, of the mean. What is 0 is not
// known: times of either kind, and power.
struct InterleavedRow {
  std::size_t setting = 0;
  double train_ms = 0;  // pure service times of a minibatch
  double infer_ms = 0;
  double power_w = 0;  // with both at work
  double train_noise = 0;
  double infer_noise = 0;
  double power_noise = 0;
  bool over_limit = false;  // cut short: only that power is above power_w is known
};

// The centre of inference beside training, where large batches are what matters: those leave more
// of time and power than the cost model's own residuals, which are of small batches.
// Where requests come one by one no samples are waited for, and the model that knows of no wait
// leaves more.
CostCentre beside_training(CostCentre centre, const Goal& goal);

// A logarithm that is known so well: natural, normal.
struct LogBelief {
  double mean = 0;
  double deviation = 0;
};

// While both run the board draws the higher of the two powers (or, live, at least no more than
// that). So a reading is the power of the workload that is believed to draw more, and a bound of
// the other one's. Training does not depend on the inference batch size: what one measurement of a
// mode says of it is known for all of them.
class InterleavedProcess {
 public:
  // Borrows the grids. `train_grid`: the modes, with one training batch size. `infer_grid`: the
  // modes, or some, with every inference batch size.
  InterleavedProcess(const SettingGrid& train_grid, const SettingGrid& infer_grid,
                     CostProcess train, CostProcess infer);

  // Takes effect at the next condition(). Numbers are finite, and one of them is above 0.
  void learn(const InterleavedRow& row);
  void condition();

  const CostProcess& infer() const { return infer_; }

  // Settings of the inference grid.
  std::size_t size() const { return infer_.size(); }
  double infer_batch(std::size_t setting) const { return infer_.batch_size(setting); }
  // Of the most likely parameters; quick. Power is the higher of the two.
  struct Mean {
    double log_train_ms = 0;
    double log_infer_ms = 0;
    double log_power = 0;
  };
  Mean mean(std::size_t setting) const;
  // Beliefs of minibatch times in ms, the process taken to be `doubt` times as unsure as it says.
  LogBelief train_time(std::size_t setting, double doubt) const;
  LogBelief infer_time(std::size_t setting, double doubt) const;
  // The odds that neither draws more than the limit.
  double power_odds(std::size_t setting, double log_limit, double doubt) const;

 private:
  void learn_times(CostRow train, CostRow infer, double train_log_w, double infer_log_w);

  // What the rows say of training in one mode.
  struct Trained {
    double time_sum = 0;
    double noise = 0;
    std::size_t times = 0;
    double least_w = std::numeric_limits<double>::infinity();  // of any reading: it draws no more
  };

  std::vector<std::size_t> mode_of_;  // one a setting: its number in the training grid
  CostProcess train_;
  CostProcess infer_;
  std::vector<InterleavedRow> rows_;
  std::vector<Trained> trained_;               // one a mode
  std::vector<CostProcess::Mean> train_mean_;  // one a mode, since the last condition()
};

}  // namespace gearshift

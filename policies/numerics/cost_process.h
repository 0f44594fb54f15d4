// A Gaussian process over what settings cost, around the board's cost model: what is believed of
// settings that were not measured.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "boards/cost_model.h"
#include "policies/numerics/setting_grid.h"

namespace gearshift {

// What a table tells of one setting: by how much the logarithms of time and power were measured
// above the cost model's own.
struct SettingPrior {
  float time_misfit = 0, power_misfit = 0;
  bool known = false;  // the table has it
};

// What is expected of a workload before anything of it was measured today.
struct CostPrior {
  WorkloadParameters workload;  // of a table, or a neutral one
  bool known = false;           // of a table
  bool same = false;            // of a table of this very workload on this board
  // Of a table where a stand-in is the model: by how much the logarithm of its power is above what
  // the stand-in draws.
  double log_power_scale = 0;
  std::vector<SettingPrior> settings;  // one a setting of the grid, or none at all
};

// One measured setting. Noise is the relative standard deviation of the mean.
struct CostRow {
  std::size_t setting = 0;
  double minibatch_ms = 0;
  double power_w = 0;
  double time_noise = 0;
  double power_noise = 0;
  bool over_limit = false;  // cut short: only that power is above power_w is known
  double cut_at_w = 0;      // of such a one: what was read of its power by then; 0: not known
};

// The noise of a cost of which a row says nothing: it is told at its expected value.
inline constexpr double kSaysNothing = 3;

// Older rows than these are forgotten: what a decision costs grows with their number.
inline constexpr std::size_t kMostCostRows = 48;
inline constexpr std::size_t kCostSamples = 32;

// The cost model that the process is centred on.
struct CostCentre {
  DeviceParameters device;
  // Clocks are multiplied by these before the model sees them; all 1 where it is the board's own.
  ModelMode stretch{1, 1, 1, 1};
  bool own = true;  // false: a stand-in, which explains less
  // Dimensions of the grid that the model knows nothing of: straight lines in the logarithms.
  std::vector<std::size_t> unknown;
  // That of them which limits power: what a setting would draw is cut there, and takes longer.
  struct PowerLimit {
    std::size_t dimension = 0;
    double log_highest_w = 0;  // of its highest value
  };
  std::optional<PowerLimit> power_limit{};
  // A quota of processor time, in percent of one core: no more of it is used than there are cores.
  struct Quota {
    std::size_t dimension = 0;
    std::size_t cores = 0;  // their dimension
  };
  std::optional<Quota> quota{};
  // One a dimension: over how much of the logarithm of its values costs are alike.
  std::vector<double> lengths;
  // How many times more the model leaves than it does of training: of what is alike in settings
  // near each other, and of what is each setting's own.
  double time_spread = 1, time_own_spread = 1;
  double power_spread = 1, power_own_spread = 1;
  // How much times of inference scatter from one setting to the next where samples are waited for:
  // of the logarithm by which the wait is longer than the minibatch. Measured times then count some
  // of the wait or none, by chance.
  double load_scatter = 0;
};

// Equally likely costs of one setting, as natural logarithms of ms and W, each with the same
// normal deviation around it.
struct CostSamples {
  std::vector<double> log_time;
  std::vector<double> log_power;
  double time_deviation = 0;
  double power_deviation = 0;
};

// log time and log power are the cost model's, for uncertain demands of the workload and uncertain
// power of the board's parts, plus a share of the misfit of the prior, plus a Matern 5/2 process
// for what the model lacks, plus a part of each setting's own. The posterior of the parameters is
// Laplace's, around the most likely ones, drawn from and weighed by its error (importance
// sampling): times are a maximum over resources, and their uncertainty is anything but normal.
// One wrong reading is told by its leave-one-out residual and hardly counts. Deterministic.
class CostProcess {
 public:
  // Borrows the grid.
  CostProcess(const SettingGrid& grid, CostCentre centre, CostPrior prior);

  // Takes effect at the next condition(). Numbers are above 0 and finite. Of a setting that was
  // learnt before, the mean of both counts, weighed by their noise.
  void learn(const CostRow& row);
  void condition();
  // Forgets every row, from the next condition() on.
  void forget() { rows_.clear(); }

  std::size_t size() const { return places_.size(); }
  const std::vector<CostRow>& rows() const { return rows_; }
  double batch_size(std::size_t setting) const { return places_[setting].batch_size; }
  // Standard deviations of what is a setting's own, of the logarithms of time and power.
  double time_own(std::size_t setting) const {
    return std::hypot(time_own_ * own_spread(setting), scatter_[setting]);
  }
  double power_own(std::size_t setting) const { return power_own_ * own_spread(setting); }
  // Of the most likely parameters; quick.
  struct Mean {
    double log_time = 0;
    double log_power = 0;
  };
  Mean mean(std::size_t setting) const { return means_[setting]; }
  void sample(std::size_t setting, CostSamples& samples) const;
  // The same, remembered until the next condition(): a search asks for the same settings again.
  // Valid until then.
  const CostSamples& samples(std::size_t setting) const;
  // Standard deviation of the logarithm of power, as it is believed in the middle one of some
  // settings; of a stand-in, in one that is less sure than three quarters of them: of a small grid
  // half of the settings are known soon.
  double typical_power_deviation() const;
  // One a sample, adding up to 1.
  std::span<const double> weights() const { return weights_; }
  // One world of those that may be: costs of all settings that go together. `temper` scales how far
  // its process is from the most likely one; 0: not at all.
  struct World;
  World draw_world(std::mt19937_64& random, double temper) const;
  Mean mean(const World& world, std::size_t setting) const;

 private:
  using Vector = Eigen::VectorXd;
  using Matrix = Eigen::MatrixXd;

  struct Place {
    ModelMode mode;
    double batch_size = 0;
  };
  // Parameters turned into what the cost model takes.
  struct Hypothesis {
    Vector parameters;
    WorkloadParameters workload;
    DeviceParameters device;
    Vector time_pull, power_pull;  // inverse covariance times residuals
    // Of a stand-in: how far power reaches above that of the lowest setting, as a power of what the
    // model says of that; idle power may be nearly all of it.
    double log_lowest_w = 0, reach = 1;
  };
  // Rows of one of the two costs: which settings, logarithms seen, variances of their noise.
  struct Series {
    std::vector<std::size_t> settings;
    std::vector<double> seen;
    std::vector<double> noise;
    Matrix precision;  // of the misfit and noise, without the parameters
    Matrix slopes;     // of the model by the parameters

    Vector all_seen() const;
  };

  void place_settings();
  void expect();
  void expect_power();
  // Whether that unknown dimension is a power limit. A table of the workload itself tells what one
  // does: then it is a line like others.
  bool limits_power(std::size_t unknown) const {
    return !prior_.same && centre_.power_limit &&
           centre_.power_limit->dimension == centre_.unknown[unknown];
  }
  void remove_trends();
  void fill_gaps();
  void doubt_table();
  void fit_rows();
  void scatter_times();
  bool contradicted() const;
  void prepare_samples();
  Hypothesis hypothesis(const Vector& parameters) const;
  Mean model(const Hypothesis& at, std::size_t setting) const;
  // The same, bent to the rows by its pulls.
  Mean pulled(const Hypothesis& at, std::size_t setting) const;
  double alike(std::size_t one, std::size_t other) const;
  double likeness(std::size_t one, std::size_t other) const;
  // How much of what the model leaves is still unknown of a setting, by a table of this very
  // workload: of what is alike in settings near each other, and of what is its own. 1: all.
  double spread(std::size_t setting) const { return prior_.same ? spread_[setting] : 1.0; }
  double own_spread(std::size_t setting) const;
  void fill_precision(Series& series, double amplitude) const;
  void fit_parameters();
  // The model at one set of parameters, on every row.
  struct Fit {
    Vector parameters;
    Vector time, power;  // predicted logarithms
    double loss = 0;     // minus twice the logarithm of the likelihood, but for a constant
  };
  Fit evaluate(const Vector& parameters) const;
  void fill_slopes(const Fit& fit);
  Fit descend(Vector from);
  // Of the model as it is expected, by Laplace's approximation, but for a constant. covariance_ is
  // that of the fit.
  double log_evidence(const Fit& fit) const;
  Fit doubt_scale(const Fit& trusting);
  void doubt_outliers();
  void add_over_limit();
  void add_cut_reading(const CostRow& row);
  void draw_samples();

  const SettingGrid& grid_;
  CostCentre centre_;
  CostPrior prior_;
  std::vector<double> spread_;  // one a setting where the prior is of the same workload
  // Of its misfit: a constant, and a slope for each unknown dimension.
  Vector time_trend_, power_trend_;
  double time_amplitude_ = 0, power_amplitude_ = 0;  // of the process
  double time_own_ = 0, power_own_ = 0;              // of each setting's own part
  bool constants_ = false;    // demands of inference have a part that does not grow with the batch
  bool fixed_share_ = false;  // demands of training have one

  std::vector<Place> places_;
  std::vector<double> coordinates_;  // one row a setting
  std::vector<double> unknown_;      // the same, of the unknown dimensions alone
  Vector expected_, deviation_;      // of the parameters before anything was measured
  std::vector<CostRow> rows_;
  Series time_, power_;
  Hypothesis likely_;
  Matrix covariance_;  // of the parameters
  Matrix normals_;     // one column a sample
  std::vector<Hypothesis> samples_;
  std::vector<double> weights_;
  std::vector<Mean> means_;                                          // one a setting
  std::vector<double> scatter_;                                      // one a setting, of log times
  mutable std::unordered_map<std::size_t, CostSamples> remembered_;  // lookup only
};

struct CostProcess::World {
  Hypothesis at;  // with the pulls of what this world leaves of the rows
  // The process before anything was measured, as a sum of cosines of the coordinates.
  Matrix frequencies;  // one row a cosine
  Vector phases;
  Vector time_heights, power_heights;
};

}  // namespace gearshift

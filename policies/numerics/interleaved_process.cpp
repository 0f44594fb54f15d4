#include "policies/numerics/interleaved_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/numerics/normal.h"

namespace gearshift {
namespace {

// Powers believed to be nearer to each other than this (natural logarithm) may change places.
constexpr double kClose = 0.05;
// The noise of a reading that may be the other's, and of one that is only known as a bound.
constexpr double kShared = 0.03, kBound = 0.06;
constexpr double kLeastDeviation = 1e-4;
// What was measured of inference was so many times farther from what was believed than believed.
constexpr double kTimeSpread = 2, kTimeOwnSpread = 4;
constexpr double kPowerSpread = 1.2, kPowerOwnSpread = 1.5;
constexpr double kServedTimeOwnSpread = 6, kServedPowerSpread = 1.5;  // one by one
constexpr double kLoadScatter = 0.7;

LogBelief gathered(const CostProcess& process, const std::vector<double>& values,
                   double deviation) {
  double mean = 0, square = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    mean += process.weights()[k] * values[k];
    square += process.weights()[k] * values[k] * values[k];
  }
  return {mean, std::sqrt(std::max(0.0, square - mean * mean) + deviation * deviation)};
}

double odds_within(const CostProcess& process, const CostSamples& samples, double log_limit,
                   double doubt) {
  double odds = 0;
  for (std::size_t k = 0; k < samples.log_power.size(); ++k) {
    odds += process.weights()[k] *
            normal_odds((log_limit - samples.log_power[k]) / (doubt * samples.power_deviation));
  }
  return odds;
}

}  // namespace

CostCentre beside_training(CostCentre centre, const Goal& goal) {
  centre.time_spread = kTimeSpread;
  centre.time_own_spread = goal.one_by_one ? kServedTimeOwnSpread : kTimeOwnSpread;
  centre.power_spread = goal.one_by_one ? kServedPowerSpread : kPowerSpread;
  centre.power_own_spread = kPowerOwnSpread;
  centre.load_scatter = goal.one_by_one ? 0 : kLoadScatter;
  return centre;
}

InterleavedProcess::InterleavedProcess(const SettingGrid& train_grid, const SettingGrid& infer_grid,
                                       CostProcess train, CostProcess infer)
    : train_(std::move(train)), infer_(std::move(infer)), trained_(train_grid.size()) {
  const auto train_batch = static_cast<std::int32_t>(train_grid.batch_sizes().front());
  for (std::size_t i = 0; i < infer_grid.size(); ++i) {
    Setting setting = infer_grid.setting(i);
    setting.batch_size = train_grid.setting(0).batch_size;
    setting.batch_size[index(Kind::train)] = train_batch;
    mode_of_.push_back(train_grid.find(setting).value_or(0));
  }
  for (std::size_t i = 0; i < trained_.size(); ++i) train_mean_.push_back(train_.mean(i));
}

void InterleavedProcess::learn(const InterleavedRow& row) {
  rows_.push_back(row);
  if (rows_.size() > kMostCostRows) rows_.erase(rows_.begin());
}

// Whose power a reading is depends on what is believed of both, so all rows are taught again.
void InterleavedProcess::condition() {
  trained_.assign(trained_.size(), {});
  std::vector<std::pair<double, double>> means;  // log power of training, inference
  for (const InterleavedRow& row : rows_) {
    means.emplace_back(train_mean_[mode_of_[row.setting]].log_power,
                       infer_.mean(row.setting).log_power);
  }
  train_.forget();
  infer_.forget();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const InterleavedRow& row = rows_[i];
    const std::size_t mode = mode_of_[row.setting];
    const auto [train_log, infer_log] = means[i];
    CostRow train{.setting = mode, .power_w = row.power_w, .over_limit = row.over_limit};
    CostRow infer = train;
    infer.setting = row.setting;
    if (row.over_limit) {
      (train_log >= infer_log ? train_ : infer_).learn(train_log >= infer_log ? train : infer);
      continue;
    }
    train.minibatch_ms = row.train_ms;
    train.time_noise = row.train_noise;
    infer.minibatch_ms = row.infer_ms;
    infer.time_noise = row.infer_noise;
    if (row.power_w == 0) {
      learn_times(train, infer, train_log, infer_log);
      continue;
    }
    const double reading = std::log(row.power_w);
    const double apart = train_log - infer_log;
    const auto noise = [&](double ahead, double believed) {
      if (ahead > kClose) return row.power_noise;
      if (ahead > -kClose) return std::hypot(row.power_noise, kShared);
      return believed > reading ? kBound : kSaysNothing;
    };
    train.power_noise = noise(apart, train_log);
    infer.power_noise = noise(-apart, infer_log);
    if (train.power_noise == kSaysNothing) train.power_w = std::exp(train_log);
    if (infer.power_noise == kSaysNothing) infer.power_w = std::exp(infer_log);
    train_.learn(train);
    infer_.learn(infer);
    Trained& known = trained_[mode];
    known.time_sum += std::log(row.train_ms);
    known.noise = std::max(known.noise, row.train_noise);
    ++known.times;
    known.least_w = std::min(known.least_w, row.power_w);
  }
  train_.condition();
  infer_.condition();
  for (std::size_t i = 0; i < trained_.size(); ++i) train_mean_[i] = train_.mean(i);
}

// Of a measurement that was cut short: what there is of times, and power at its expected value.
void InterleavedProcess::learn_times(CostRow train, CostRow infer, double train_log_w,
                                     double infer_log_w) {
  train.power_w = std::exp(train_log_w);
  infer.power_w = std::exp(infer_log_w);
  train.power_noise = infer.power_noise = kSaysNothing;
  if (train.minibatch_ms > 0) train_.learn(train);
  if (infer.minibatch_ms > 0) infer_.learn(infer);
}

InterleavedProcess::Mean InterleavedProcess::mean(std::size_t setting) const {
  const std::size_t mode = mode_of_[setting];
  const Trained& known = trained_[mode];
  const CostProcess::Mean infer = infer_.mean(setting);
  Mean mean{
      train_mean_[mode].log_time, infer.log_time,
      std::max(std::min(train_mean_[mode].log_power, std::log(known.least_w)), infer.log_power)};
  if (known.times > 0) mean.log_train_ms = known.time_sum / static_cast<double>(known.times);
  return mean;
}

LogBelief InterleavedProcess::train_time(std::size_t setting, double doubt) const {
  const std::size_t mode = mode_of_[setting];
  const Trained& known = trained_[mode];
  if (known.times > 0) {
    return {known.time_sum / static_cast<double>(known.times),
            std::max(kLeastDeviation, known.noise)};
  }
  const CostSamples& samples = train_.samples(mode);
  return gathered(train_, samples.log_time, doubt * samples.time_deviation);
}

LogBelief InterleavedProcess::infer_time(std::size_t setting, double doubt) const {
  const CostSamples& samples = infer_.samples(setting);
  return gathered(infer_, samples.log_time, doubt * samples.time_deviation);
}

double InterleavedProcess::power_odds(std::size_t setting, double log_limit, double doubt) const {
  if (log_limit == std::numeric_limits<double>::infinity()) return 1;
  const std::size_t mode = mode_of_[setting];
  const double odds = odds_within(infer_, infer_.samples(setting), log_limit, doubt);
  if (std::log(trained_[mode].least_w) <= log_limit) return odds;
  return odds * odds_within(train_, train_.samples(mode), log_limit, doubt);
}

}  // namespace gearshift

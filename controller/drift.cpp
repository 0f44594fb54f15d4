#include "controller/drift.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gearshift {
namespace {

constexpr std::uint32_t kFewMinibatches = 3;  // fewer do not tell how they scatter
constexpr double kMarginDeviations = 3;       // an observation's margin is so many deviations

double square(double value) { return value * value; }

double busy_s(const Cost& cost) { return seconds(cost.minibatch_mean) * cost.minibatches; }

constexpr DriftQuantity time_of(std::size_t kind) {
  return kind == index(Kind::train) ? DriftQuantity::train_time : DriftQuantity::infer_time;
}

constexpr std::size_t at(DriftQuantity quantity) { return static_cast<std::size_t>(quantity); }

}  // namespace

std::string_view drift_quantity_name(DriftQuantity quantity) {
  return quantity == DriftQuantity::train_time   ? "train minibatch time"
         : quantity == DriftQuantity::infer_time ? "infer minibatch time"
                                                 : "power";
}

std::string DriftAlarm::text() const {
  const std::string name(drift_quantity_name(quantity));
  const char* const unit = quantity == DriftQuantity::power ? "W" : "ms";
  char line[200];
  std::snprintf(line, sizeof line,
                "%s %.4g %s, expected %.4g %s (%+.1f %%): statistic %.1f of %.1f after %u repeat%s",
                name.c_str(), measured, unit, expected, unit, 100 * (measured / expected - 1),
                statistic, threshold, repeats, repeats == 1 ? "" : "s");
  return line;
}

Drift::Drift(DriftOptions options) : options_(options) { references_.reserve(kMostReferences); }

void Drift::forget() {
  references_.clear();
  sums_ = {};
}

void Drift::change_requests() {
  for (const DriftQuantity quantity : {DriftQuantity::infer_time, DriftQuantity::power}) {
    for (auto& [setting, reference] : references_) reference.figures[at(quantity)].reset();
    sums_[at(quantity)] = {};
  }
}

Drift::Figures Drift::figures_of(const Observation& observation) const {
  Figures figures;
  double all_s = 0;
  for (const Cost& cost : observation.cost) all_s += busy_s(cost);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const Cost& cost = observation.cost[kind];
    if (cost.minibatches == 0 || cost.minibatch_mean <= Duration::zero()) continue;
    const double mean_s = seconds(cost.minibatch_mean);
    figures[at(time_of(kind))] =
        Figure{std::log(mean_s), square(seconds(cost.minibatch_stddev) / mean_s) / cost.minibatches,
               busy_s(cost) / all_s};
  }
  if (observation.power_mean_mw > 0) {
    const auto power_mw = static_cast<double>(observation.power_mean_mw);
    // The margin is of one window. A measurement is a few windows long; their number is not kept,
    // so one it is.
    figures[at(DriftQuantity::power)] = Figure{
        std::log(power_mw),
        square(static_cast<double>(observation.power_margin_mw) / (kMarginDeviations * power_mw))};
  }
  return figures;
}

double Drift::scale(DriftQuantity quantity, const Figure& figure, const Figure& reference) const {
  const bool power = quantity == DriftQuantity::power;
  const double step =
      power ? static_cast<double>(options_.power_step_mw) / std::exp(reference.log_mean) : 0;
  const double floor = power ? options_.power_floor : options_.time_floor / figure.share;
  return std::sqrt(square(floor) + square(step) + figure.variance + reference.variance);
}

double Drift::residual(DriftQuantity quantity, const Figure& figure,
                       const Figure& reference) const {
  return (figure.log_mean - reference.log_mean) / scale(quantity, figure, reference);
}

void Drift::accumulate(DriftQuantity quantity, double residual) {
  Sum& sum = sums_[at(quantity)];
  sum.up = std::max(0.0, sum.up + residual - options_.allowance);
  sum.down = std::max(0.0, sum.down - residual - options_.allowance);
  sum.up_repeats = sum.up > 0 ? sum.up_repeats + 1 : 0;
  sum.down_repeats = sum.down > 0 ? sum.down_repeats + 1 : 0;
}

std::optional<DriftAlarm> Drift::add(const Observation& observation) {
  if (!observation.ok() || observation.job.state != JobState::none) return std::nullopt;
  const Figures figures = figures_of(observation);
  auto found = references_.find(observation.setting);
  if (found == references_.end()) {
    if (references_.size() == kMostReferences) references_.clear();
    Reference& reference = references_[observation.setting];
    reference.figures = figures;
    reference.count.fill(1);
    return std::nullopt;
  }
  ++repeats_;
  Reference& reference = found->second;
  const Reference before = reference;
  for (std::size_t i = 0; i < kDriftQuantities; ++i) {
    if (!figures[i]) continue;
    if (!reference.figures[i]) {
      reference.figures[i] = figures[i];
      reference.count[i] = 1;
      continue;
    }
    const auto quantity = static_cast<DriftQuantity>(i);
    Figure& known = *reference.figures[i];
    const double off = residual(quantity, *figures[i], known);
    accumulate(quantity, std::clamp(off, -options_.most_residual, options_.most_residual));
    if (std::abs(off) > options_.allowance) continue;
    if (reference.count[i] >= options_.reference_repeats) continue;
    const double n = ++reference.count[i];
    known.log_mean += (figures[i]->log_mean - known.log_mean) / n;
    known.variance = (square(n - 1) * known.variance + figures[i]->variance) / square(n);
  }
  return judge(observation.setting, figures, before);
}

std::optional<DriftAlarm> Drift::add_excess(const Observation& cut) {
  constexpr auto kPower = at(DriftQuantity::power);
  const auto found = references_.find(cut.setting);
  if (found == references_.end() || !found->second.figures[kPower] || cut.power_mean_mw <= 0) {
    return std::nullopt;
  }
  const Reference& reference = found->second;
  Figures figures = figures_of(cut);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (cut.cost[kind].minibatches < kFewMinibatches) figures[at(time_of(kind))].reset();
  }
  // Noise alone takes one window in thousands over a cap that the setting is within: as far off as
  // the margin, which the allowance covers.
  figures[kPower]->variance = reference.figures[kPower]->variance * reference.count[kPower];
  ++repeats_;
  for (std::size_t i = 0; i < kDriftQuantities; ++i) {
    if (!figures[i] || !reference.figures[i]) continue;
    const auto quantity = static_cast<DriftQuantity>(i);
    // Power was cut off on its way up.
    const double least = quantity == DriftQuantity::power ? 0 : -options_.most_residual;
    accumulate(quantity, std::clamp(residual(quantity, *figures[i], *reference.figures[i]), least,
                                    options_.most_residual));
  }
  return judge(cut.setting, figures, reference);
}

bool Drift::suspects() const {
  return std::any_of(sums_.begin(), sums_.end(), [&](const Sum& sum) {
    return std::max(sum.up, sum.down) > options_.allowance;
  });
}

// The alarm of the quantity that is farthest out, if any is out at all.
std::optional<DriftAlarm> Drift::judge(const Setting& setting, const Figures& figures,
                                       const Reference& reference) const {
  std::optional<DriftAlarm> alarm;
  for (std::size_t i = 0; i < kDriftQuantities; ++i) {
    const Sum& sum = sums_[i];
    const double statistic = std::max(sum.up, sum.down);
    if (statistic <= options_.threshold || !figures[i] || !reference.figures[i]) continue;
    if (alarm && statistic <= alarm->statistic) continue;
    const auto quantity = static_cast<DriftQuantity>(i);
    const double to_unit = quantity == DriftQuantity::power ? 1e-3 : 1e3;  // mW to W, s to ms
    alarm = DriftAlarm{.setting = setting,
                       .quantity = quantity,
                       .expected = to_unit * std::exp(reference.figures[i]->log_mean),
                       .measured = to_unit * std::exp(figures[i]->log_mean),
                       .statistic = statistic,
                       .threshold = options_.threshold,
                       .repeats = sum.up > sum.down ? sum.up_repeats : sum.down_repeats};
  }
  return alarm;
}

}  // namespace gearshift

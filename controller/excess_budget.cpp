#include "controller/excess_budget.h"

#include <algorithm>

namespace gearshift {
namespace {

constexpr double kShare = 0.002;
constexpr double kSavedUpS = 300;

double joules(std::int64_t mw, double span_s) { return static_cast<double>(mw) / 1000 * span_s; }

}  // namespace

void ExcessBudget::add(Time now, std::int64_t power_mw, std::int64_t excess_mw) {
  most_j_ = kShare * joules(power_mw, kSavedUpS);
  const double span_s = begun_ ? seconds(now - newest_) : 0;
  left_j_ = begun_ ? left_j_ + kShare * joules(power_mw, span_s) : most_j_;
  begun_ = true;
  newest_ = now;
  left_j_ = std::min(left_j_, most_j_);
  spend(joules(excess_mw, span_s));
}

void ExcessBudget::charge(std::int64_t excess_mw, Duration span) {
  spend(joules(excess_mw, seconds(span)));
}

void ExcessBudget::spend(double excess_j) { left_j_ = std::max(left_j_ - excess_j, -most_j_); }

}  // namespace gearshift

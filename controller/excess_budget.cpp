#include "controller/excess_budget.h"

#include <algorithm>

namespace gearshift {
namespace {

constexpr double kShare = 0.0025;
constexpr double kSavedUpS = 300;

}  // namespace

void ExcessBudget::add(Time now, std::int64_t power_mw, std::int64_t excess_mw) {
  const double power_w = static_cast<double>(power_mw) / 1000;
  const double most_j = kShare * power_w * kSavedUpS;
  const double span_s = begun_ ? seconds(now - newest_) : 0;
  left_j_ = begun_ ? left_j_ + kShare * power_w * span_s : most_j;
  begun_ = true;
  newest_ = now;
  left_j_ = std::min(left_j_, most_j) - static_cast<double>(excess_mw) / 1000 * span_s;
  left_j_ = std::max(left_j_, -most_j);
}

}  // namespace gearshift

// How many reports of minibatches a client sends: fewer than a daemon takes.
#pragma once

#include <algorithm>
#include <chrono>

namespace gearshift::client::detail {

// Fifteen hundred a second after a burst: a daemon takes two thousand of all messages of a client
// and drops the rest, whatever it is.
class ReportBudget {
 public:
  // `now` since any moment. False where a report would be too many.
  bool take(std::chrono::nanoseconds now) {
    const std::chrono::nanoseconds due = std::max(due_, now - kBurst * kPeriod);
    if (due > now) return false;
    due_ = due + kPeriod;
    return true;
  }

 private:
  static constexpr std::chrono::nanoseconds kPeriod{1'000'000'000 / 1500};
  static constexpr int kBurst = 256;
  std::chrono::nanoseconds due_{0};
};

}  // namespace gearshift::client::detail

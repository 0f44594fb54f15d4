// A transfer without networks: every setting costs what the measured ones near it did. It knows
// nothing but what it is given.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "policies/numerics/mode_transfer.h"

namespace gearshift {

class NearestTransfer : public ModeTransfer {
 public:
  std::string objection(const KnobSpace&, std::span<const std::int32_t>) const override {
    return "";
  }
  TransferResult transfer(const Profile& measured,
                          std::span<const TransferSetting> settings) const override {
    if (measured.cells().empty()) throw std::runtime_error("nothing was measured");
    TransferResult result;
    for (const TransferSetting& one : settings) {
      double weights = 0, log_time = 0, log_power = 0;
      for (const ProfileCell& cell : measured.cells()) {
        const double weight = 1 / (1e-6 + squared_distance(measured.knobs(), cell.mode, one.mode));
        weights += weight;
        log_time += weight * std::log(cell.minibatch_ms);
        log_power += weight * std::log(cell.power_w);
      }
      result.minibatch_ms.push_back(std::exp(log_time / weights));
      result.power_w.push_back(std::exp(log_power / weights));
    }
    return result;
  }

 private:
  // Each knob's range counts as 1.
  static double squared_distance(const KnobSpace& space, const PowerMode& a, const PowerMode& b) {
    double sum = 0;
    for (std::size_t i = 0; i < space.size(); ++i) {
      const auto range =
          static_cast<double>(space.knobs[i].values.back() - space.knobs[i].values.front());
      const double off = static_cast<double>(a.values[i] - b.values[i]) / std::max(1.0, range);
      sum += off * off;
    }
    return sum;
  }
};

}  // namespace gearshift

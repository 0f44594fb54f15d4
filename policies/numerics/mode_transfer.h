// Predicts every setting from a few measured ones and a model that was trained before, in one slow
// computation: what PowerTrain is to a script. Implemented in policies/powertrain, which the owner
// of a policy hands in, so that scripts need no libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/profile.h"

namespace gearshift {

struct TransferSetting {
  PowerMode mode;
  std::int32_t batch_size = 0;
};

struct TransferResult {
  std::vector<double> minibatch_ms;  // above 0, one a setting
  std::vector<double> power_w;
  // Mean relative errors over the measured settings that it learnt from: 0.05 is 5 %.
  double time_error = 0;
  double power_error = 0;
};

class ModeTransfer {
 public:
  virtual ~ModeTransfer() = default;
  // Why no transfer can be to settings of these knobs and batch sizes, with the way out; empty
  // where nothing is known to speak against it. Trains nothing. May be called by several threads.
  virtual std::string objection(const KnobSpace& knobs,
                                std::span<const std::int32_t> batch_sizes) const = 0;
  // Learns from the cells of `measured`, and predicts `settings`, whose modes have its knobs. A
  // function of the arguments. Takes up to a third of a second, and a second more the first time.
  // Throws std::runtime_error that says why it cannot, and the way out. May be called by several
  // threads.
  virtual TransferResult transfer(const Profile& measured,
                                  std::span<const TransferSetting> settings) const = 0;
};

}  // namespace gearshift

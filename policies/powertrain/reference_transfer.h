// PowerTrain's transfer from a reference, for policies.
//
// One mutex, because evaluations run policies on several threads, and the module serves one at a
// time.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "policies/numerics/mode_transfer.h"
#include "policies/powertrain/predictor.h"

namespace gearshift {

class ReferenceTransfer : public ModeTransfer {
 public:
  // `load` gives the reference; it is called once, when it is needed, and may throw.
  explicit ReferenceTransfer(std::function<Predictor()> load);
  // Loads the reference where it is not there yet, and no libtorch.
  std::string objection(const KnobSpace& knobs,
                        std::span<const std::int32_t> batch_sizes) const override;
  // Section 3.2, with the loss of the squared errors and seed 1. Throws NetworkError where libtorch
  // is not there, TrainingError where the reference does not fit the board or the batch sizes.
  TransferResult transfer(const Profile& measured,
                          std::span<const TransferSetting> settings) const override;

  // Loads libtorch and the reference and trains a little, so that the first transfer takes no
  // longer than the others. Takes about a second. Why it cannot, the transfer that meets it will
  // tell.
  void warm_up() const noexcept;

 private:
  std::function<Predictor()> load_;
  mutable std::mutex one_at_a_time_;
  mutable std::optional<Predictor> reference_;
};

}  // namespace gearshift

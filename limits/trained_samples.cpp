#include "limits/trained_samples.h"

#include <algorithm>
#include <utility>

namespace gearshift {

void TrainedSamples::add(const Minibatch& minibatch, const Workload& training,
                         std::uint32_t epochs) {
  const double samples = std::max(0, minibatch.batch_size);
  if (training.samples_per_epoch <= 0) {
    count_ += samples;
    return;
  }
  const auto whole = static_cast<double>(training.samples_per_epoch);
  const bool follows = !joins_ && minibatch.epoch == epoch_ && minibatch.sequence > sequence_;
  begin_epoch(minibatch, whole, epochs);
  double trained = samples;
  if (follows) {  // and what was left out between the two
    const double missed = static_cast<double>(minibatch.sequence - sequence_ - 1) * samples;
    trained += std::clamp(whole - in_epoch_ - samples, 0.0, missed);
  }
  sequence_ = minibatch.sequence;
  in_epoch_ += trained;
  count_ += trained;
}

void TrainedSamples::begin_epoch(const Minibatch& minibatch, double samples_per_epoch,
                                 std::uint32_t epochs) {
  const bool joins = std::exchange(joins_, false);
  const double before = static_cast<double>(minibatch.epoch) * samples_per_epoch;
  // Some number epochs from 1 on: none was trained before such a trainer's very first minibatch.
  if (!std::exchange(began_, true) && minibatch.epoch == 1 && minibatch.sequence <= 1) {
    origin_ = -before;
  }
  if (joins && minibatch.epoch < epochs) {
    const double all_but_one = (static_cast<double>(epochs) - 1) * samples_per_epoch;
    count_ = std::max(count_, std::min(origin_ + before, all_but_one));
  }
  if (minibatch.epoch != epoch_) {
    // What is left out at the end of an epoch is less than a minibatch, and so than half of it.
    const bool trained = joined_ || 2 * in_epoch_ >= samples_per_epoch;
    if (minibatch.epoch > epoch_ && trained) {
      count_ = std::max(count_, origin_ + (static_cast<double>(epoch_) + 1) * samples_per_epoch);
    }
    // Numbered anew, or past epochs that nobody saw.
    if (minibatch.epoch < epoch_ || origin_ + before > count_) origin_ = count_ - before;
    epoch_ = minibatch.epoch;
    in_epoch_ = 0;
    joined_ = false;
  }
  if (joins) joined_ = minibatch.sequence > 1;
}

double TrainedSamples::left(const Workload& training, std::uint32_t epochs) const {
  const auto samples_per_epoch = static_cast<double>(training.samples_per_epoch);
  return std::max(0.0, static_cast<double>(epochs) * samples_per_epoch - count_);
}

bool TrainedSamples::over(const Workload& training, std::uint32_t epochs) const {
  if (training.samples_per_epoch <= 0) return false;
  const double rest = left(training, epochs);
  const auto offered = training.allowed();
  const auto largest = std::max(training.batch_size, offered.empty() ? 0 : offered.back());
  return rest <= 0 ||
         (rest < largest && 2 * rest < static_cast<double>(training.samples_per_epoch));
}

}  // namespace gearshift

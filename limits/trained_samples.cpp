#include "limits/trained_samples.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace gearshift {
namespace {

// How long another minibatch is awaited: so many times as long as the newest took, within these.
constexpr int kPatience = 3;
constexpr Duration kLeastPatience = std::chrono::seconds(1);
constexpr Duration kMostPatience = std::chrono::minutes(5);

// Of the minibatches of a training, which may have run in batches of any size that it allows; the
// last of an epoch may be smaller.
double least_samples(const Workload& training, double newest_samples) {
  double least = newest_samples;
  for (const std::int32_t size : training.allowed()) least = std::min<double>(least, size);
  if (training.batch_size > 0) least = std::min<double>(least, training.batch_size);
  return std::max(1.0, least);
}

}  // namespace

void TrainedSamples::add(const Minibatch& minibatch, const Workload& training,
                         std::uint32_t epochs) {
  newest_samples_ = std::max(0, minibatch.batch_size);
  awaited_until_ =
      minibatch.received + std::clamp(kPatience * std::min(minibatch.elapsed, kMostPatience),
                                      kLeastPatience, kMostPatience);
  if (training.samples_per_epoch <= 0) {
    count_ += newest_samples_;
    return;
  }
  const auto whole = static_cast<double>(training.samples_per_epoch);
  const bool joins = std::exchange(joins_, false);
  const bool follows = !joins && minibatch.epoch == epoch_ && minibatch.sequence > sequence_;
  if (joins) join(minibatch, training, epochs);
  begin_epoch(minibatch, whole);
  if (joins) joined_ = minibatch.sequence > 1;
  double trained = newest_samples_;
  if (follows) {  // and what was left out between the two
    const double missed = static_cast<double>(minibatch.sequence - sequence_ - 1) * newest_samples_;
    trained += std::clamp(whole - in_epoch_ - newest_samples_, 0.0, missed);
  }
  sequence_ = minibatch.sequence;
  in_epoch_ += trained;
  count_ += trained;
}

void TrainedSamples::join(const Minibatch& minibatch, const Workload& training,
                          std::uint32_t epochs) {
  const auto samples_per_epoch = static_cast<double>(training.samples_per_epoch);
  const double before = static_cast<double>(minibatch.epoch) * samples_per_epoch;
  if (!std::exchange(began_, true)) {
    // Its first epoch is 0 or 1, and only what its process has sent since it began tells which: one
    // that counts from 1 has not sent so many, whatever the sizes were.
    const auto sent = static_cast<double>(std::max<std::uint64_t>(minibatch.sequence, 1) - 1);
    const double most_an_epoch =
        std::ceil(samples_per_epoch / least_samples(training, newest_samples_));
    const bool from_zero = minibatch.epoch < epochs && sent >= minibatch.epoch * most_an_epoch;
    if (!from_zero) origin_ = minibatch.epoch <= epochs ? -samples_per_epoch : -before;
    count_ = origin_ + before;
    return;
  }
  const bool another_process = minibatch.sequence <= sequence_;
  if (another_process) {
    in_epoch_ = 0;
    if (origin_ + before <= 0) {  // numbered from the start again
      origin_ = count_ - before;
    } else {  // it goes on from what it saved, which may be of before
      count_ = std::min(count_, origin_ + before);
    }
  }
  if (minibatch.epoch >= epochs) return;
  const double all_but_one = (static_cast<double>(epochs) - 1) * samples_per_epoch;
  count_ = std::max(count_, std::min(origin_ + before, all_but_one));
}

void TrainedSamples::begin_epoch(const Minibatch& minibatch, double samples_per_epoch) {
  if (minibatch.epoch == epoch_) return;
  const double before = static_cast<double>(minibatch.epoch) * samples_per_epoch;
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

double TrainedSamples::left(const Workload& training, std::uint32_t epochs) const {
  const auto samples_per_epoch = static_cast<double>(training.samples_per_epoch);
  return std::max(0.0, static_cast<double>(epochs) * samples_per_epoch - count_);
}

bool TrainedSamples::over(const Workload& training, std::uint32_t epochs, Time now) const {
  if (training.samples_per_epoch <= 0) return false;
  const double rest = left(training, epochs);
  return rest <= 0 || (rest < newest_samples_ && now > awaited_until_);
}

}  // namespace gearshift

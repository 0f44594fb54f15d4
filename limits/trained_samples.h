// How many samples a training has done, by what its minibatches say of themselves.
#pragma once

#include <cstdint>

#include "controller/event.h"

namespace gearshift {

// Not every minibatch arrives: the last of an epoch is often smaller than any size that is offered,
// or is not trained at all, a fast client leaves reports out, and epochs pass before a daemon that
// was started anew. The number of the epoch makes up for them. It is a client's word: a number adds
// no more than the epochs before it, and only to begin with; later ones end one epoch each, and
// only one that was seen to be trained. In doubt less is counted: what is called done too early is
// trained in the lowest mode.
class TrainedSamples {
 public:
  // Another training: nothing is done of it.
  void forget() { *this = TrainedSamples(); }
  // It came, or came back: the epochs that passed meanwhile count. Those of a process that numbers
  // them from the start again are counted on; one that goes on in an epoch of before, from what it
  // saved, trains it again.
  void attached() { joins_ = true; }
  // A minibatch of a training of so many epochs.
  void add(const Minibatch& minibatch, const Workload& training, std::uint32_t epochs);

  double count() const { return count_; }
  // Samples; 0 where the training does not tell how many an epoch has.
  double left(const Workload& training, std::uint32_t epochs) const;
  // Nothing is left, or less than the newest minibatch had, and nothing more has come for as long
  // as it would have taken: a smaller last one does not arrive. False where the training does not
  // tell how many samples an epoch has.
  bool over(const Workload& training, std::uint32_t epochs, Time now) const;

 private:
  void join(const Minibatch& minibatch, const Workload& training, std::uint32_t epochs);
  void begin_epoch(const Minibatch& minibatch, double samples_per_epoch);

  double count_ = 0;
  double origin_ = 0;    // at the beginning of the epoch that is numbered 0
  double in_epoch_ = 0;  // of the current one
  std::uint32_t epoch_ = 0;
  std::uint64_t sequence_ = 0;  // of the newest minibatch
  double newest_samples_ = 0;
  Time awaited_until_{};  // a minibatch after the newest
  bool joins_ = true;     // the next minibatch is the first since it was attached
  bool joined_ = false;   // in the middle of the current epoch
  bool began_ = false;
};

}  // namespace gearshift

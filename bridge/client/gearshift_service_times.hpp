// How long minibatches take: for each kind a time that few of those to come are above; and how many
// requests may come meanwhile.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/interleaving.h"

namespace gearshift::client {

// The largest of the newest 64 times, but no more than twice their median: a lone outlier is
// nothing to plan for. The very first time is left out, since it pays for what is done once, unless
// it is warm.
class ServiceTimes {
 public:
  explicit ServiceTimes(bool warm = false) : warm_(warm) {}

  void add(std::chrono::nanoseconds elapsed) {
    if (!std::exchange(warm_, true)) return;
    if (newest_.size() == kWindow) {
      ordered_.erase(std::lower_bound(ordered_.begin(), ordered_.end(), newest_.front()));
      newest_.pop_front();
    }
    newest_.push_back(elapsed);
    ordered_.insert(std::upper_bound(ordered_.begin(), ordered_.end(), elapsed), elapsed);
  }
  // 0: not known.
  std::chrono::nanoseconds estimate() const {
    if (ordered_.empty()) return {};
    return std::min(ordered_.back(), 2 * ordered_[(ordered_.size() - 1) / 2]);
  }
  // As if the largest had not been seen.
  void forget_largest() {
    if (ordered_.empty()) return;
    newest_.erase(std::find(newest_.begin(), newest_.end(), ordered_.back()));
    ordered_.pop_back();
  }
  // The times to come are others, as in another power mode.
  void restart() {
    newest_.clear();
    ordered_.clear();
  }

 private:
  static constexpr std::size_t kWindow = 64;
  bool warm_;
  std::deque<std::chrono::nanoseconds> newest_;
  std::vector<std::chrono::nanoseconds> ordered_;
};

// How long the times that keep something out are believed, since what waits takes none: a second,
// the next time two, and so on.
class Patience {
 public:
  bool waits() const { return since_.has_value(); }
  // It was over before, and what waits was kept out again.
  bool tried() const { return wait_ > kShortest; }
  // Called for as long as it is kept out: true once it has been for long enough, from when on the
  // next wait counts.
  bool over(std::chrono::nanoseconds at) {
    if (!since_) since_ = at;
    if (at - *since_ < wait_) return false;
    since_ = at;
    wait_ = std::min(2 * wait_, kLongest);
    return true;
  }
  // It is not kept out any more.
  void end() { since_.reset(); }
  // The next wait is a second again.
  void restart() { wait_ = kShortest; }

 private:
  static constexpr std::chrono::nanoseconds kShortest = std::chrono::seconds(1);
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::seconds(64);

  std::optional<std::chrono::nanoseconds> since_;
  std::chrono::nanoseconds wait_ = kShortest;
};

// Of inference minibatches by their size: one of the sizes offered, ascending. The first time of
// each number of samples is left out: on a GPU each shape is made ready when it is first run, which
// may take as long as twenty minibatches do.
class BatchTimes {
 public:
  explicit BatchTimes(std::vector<std::int32_t> sizes)
      : sizes_(std::move(sizes)), times_(sizes_.size(), ServiceTimes(true)) {}

  // A smaller minibatch counts with the smallest size that holds it.
  void add(std::int32_t samples, std::chrono::nanoseconds elapsed) {
    if (seen_.insert(samples).second) return;
    times_[size_for(samples)].add(elapsed);
  }
  // That of the size that holds so many samples, and no less than that of a smaller size. Of a size
  // not yet seen it is that of those below: by a longer one, which nothing has shown, requests
  // would be kept out that alone show it. Where nothing below was seen either, it is that of the
  // next larger.
  std::chrono::nanoseconds estimate(std::int32_t samples) const {
    std::chrono::nanoseconds found{0};
    for (const std::size_t i : known(samples)) found = std::max(found, times_[i].estimate());
    return found;
  }
  // That of so many requests that may come together. Where they would all be late, but one alone is
  // not, it is the whole latency: some are answered then.
  std::chrono::nanoseconds planned(std::int32_t samples, std::chrono::nanoseconds latency) const {
    const std::chrono::nanoseconds found = estimate(samples);
    return estimate(1) <= latency ? std::min(found, latency) : found;
  }
  // So many samples, or fewer where they take longer than that: a size offered. `samples` where no
  // size is as short.
  std::int32_t most_within(std::int32_t samples, std::chrono::nanoseconds longest) const {
    if (estimate(samples) <= longest) return samples;
    const auto fits = [&](std::int32_t size) {
      return size < samples && estimate(size) <= longest;
    };
    const auto found = std::find_if(sizes_.rbegin(), sizes_.rend(), fits);
    return found != sizes_.rend() ? *found : samples;
  }
  // As if the largest had not been seen, of those that the estimate of so many samples is from.
  void forget_largest(std::int32_t samples) {
    const std::vector<std::size_t> known = this->known(samples);
    const auto longest = std::max_element(known.begin(), known.end(), [&](auto one, auto other) {
      return times_[one].estimate() < times_[other].estimate();
    });
    if (longest != known.end()) times_[*longest].forget_largest();
  }
  // Of sizes that take longer nothing is known any more.
  void forget_longer(std::chrono::nanoseconds longest) {
    for (ServiceTimes& times : times_) {
      if (times.estimate() > longest) times.restart();
    }
  }

 private:
  // Number of the smallest size that holds so many samples, else of the largest.
  std::size_t size_for(std::int32_t samples) const {
    const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), samples) - sizes_.begin();
    return std::min(static_cast<std::size_t>(at), sizes_.size() - 1);
  }
  // What tells of so many samples: all sizes known up to theirs, else the next larger.
  std::vector<std::size_t> known(std::int32_t samples) const {
    const std::size_t last = size_for(samples);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < sizes_.size() && (i <= last || found.empty()); ++i) {
      if (times_[i].estimate().count() > 0) found.push_back(i);
    }
    return found;
  }

  std::vector<std::int32_t> sizes_;
  std::vector<ServiceTimes> times_;
  std::set<std::int32_t> seen_;  // numbers of samples
};

// Whether requests are kept out because by the times known they would be late. Minibatches of them
// are not run then either: what is known of those is forgotten after a second, and where that is
// too long again after two, and so on.
class ShutOut {
 public:
  explicit ShutOut(std::chrono::nanoseconds latency) : latency_(latency) {}

  // Called between two minibatches, `served` of which were of requests so far. Returns
  // what people should know, once: what was tried again was again longer than the whole latency,
  // even for one request.
  std::string judge(BatchTimes& times, std::int32_t batch_size, std::chrono::nanoseconds at,
                    std::int64_t served) {
    if (latency_.count() <= 0 || times.estimate(batch_size) <= planned_latency(latency_)) {
      patience_.end();
      if (served - reopened_at_ >= kMinibatchesOfTrust) patience_.restart();
      return {};
    }
    const bool again = patience_.tried();
    if (!patience_.over(at)) return {};
    const std::chrono::nanoseconds one = times.estimate(1);
    reopened_at_ = served;
    times.forget_longer(planned_latency(latency_));
    if (!again || one <= latency_ || std::exchange(told_, true)) return {};
    return "a request takes " + in_ms(one) + ", its latency is " + in_ms(latency_) +
           ": none can be answered in time";
  }
  // Another setting is in force, which may be faster: it is tried.
  void try_again(BatchTimes& times) {
    if (!patience_.waits()) return;
    times.forget_longer(planned_latency(latency_));
    patience_.end();
    patience_.restart();
  }

 private:
  static constexpr int kMinibatchesOfTrust = 8;
  static std::string in_ms(std::chrono::nanoseconds time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", static_cast<double>(time.count()) / 1e6);
    return text;
  }

  const std::chrono::nanoseconds latency_;
  Patience patience_;
  std::int64_t reopened_at_ = 0;  // `served` then
  bool told_ = false;
};

// How many requests may come within a time, by the newest of those that came.
class Arrivals {
 public:
  void add(std::chrono::nanoseconds at) {
    if (newest_.size() == kNewest) newest_.pop_front();
    newest_.push_back(at);
  }
  // Three standard deviations of a Poisson count above its mean; `limit` at most, and one at least.
  std::int32_t most_within(std::chrono::nanoseconds span, std::chrono::nanoseconds at,
                           std::int32_t limit) const {
    if (newest_.empty()) return 1;
    const std::chrono::nanoseconds since = at - newest_.front();
    const double mean = static_cast<double>(newest_.size()) * static_cast<double>(span.count()) /
                        static_cast<double>(std::max<std::int64_t>(since.count(), 1));
    const double most = std::min(mean + 3 * std::sqrt(mean), static_cast<double>(limit));
    return std::max(1, static_cast<std::int32_t>(std::ceil(most)));
  }

 private:
  static constexpr std::size_t kNewest = 16;
  std::deque<std::chrono::nanoseconds> newest_;
};

// How late a wait for a batch to fill may end: the most of the newest 256 waits that lasted for
// their whole time.
class Oversleeping {
 public:
  // Below 0 where a request ended the wait.
  void add(std::chrono::nanoseconds late) {
    if (late.count() < 0) return;
    if (newest_.size() == kNewest) newest_.pop_front();
    newest_.push_back(late);
  }
  std::chrono::nanoseconds most() const {
    const auto most = std::max_element(newest_.begin(), newest_.end());
    return most == newest_.end() ? std::chrono::nanoseconds(0) : *most;
  }

 private:
  static constexpr std::size_t kNewest = 256;
  std::deque<std::chrono::nanoseconds> newest_;
};

// Training that waits because its minibatch is too long. It takes no times then, so one slow
// minibatch could stop it for good: the longest is forgotten after a second, the next after two,
// and so on.
class KeptOut {
 public:
  // Called with what is next. True where the longest times are to be forgotten.
  bool judge(const InterleavingState& state, Turn turn, std::chrono::nanoseconds at) {
    if (turn == Turn::train) {
      patience_.end();
      if (++in_a_row_ == kMinibatchesOfTrust) patience_.restart();
      return false;
    }
    if (!state.trains || training_fits(state)) return false;
    in_a_row_ = 0;
    return patience_.over(at);
  }
  // Another setting is in force. True where training waits, so that its times are to be taken anew.
  bool try_again() {
    if (!patience_.waits()) return false;
    patience_.restart();
    return true;
  }

 private:
  static constexpr int kMinibatchesOfTrust = 8;
  Patience patience_;
  int in_a_row_ = 0;  // training minibatches since it last waited
};

// How many requests a minibatch that begins now answers: as many as wait, `batch_size` at most, or
// fewer where the oldest would be late with them and the rest is not without it. `waited(i)`: how
// long the i-th has, the oldest first.
template <typename Waited>
std::int32_t size_to_serve(const BatchTimes& times, std::int32_t size, std::int32_t batch_size,
                           std::chrono::nanoseconds latency, Waited waited) {
  if (latency.count() <= 0 || size == 0 || size >= batch_size) return size;
  const std::int32_t fewer = times.most_within(size, latency - waited(0));
  if (fewer == size) return size;
  const auto rest = waited(fewer) + times.estimate(fewer) + times.estimate(size - fewer);
  return rest <= latency ? fewer : size;
}

// How long nothing runs, while `queued` requests wait: until one is due, as `choice` says, or the
// daemon is to hear of what became of those before, `until_report` from now. A fifth of a second at
// most.
inline std::chrono::nanoseconds longest_wait(const TurnChoice& choice, std::size_t queued,
                                             std::chrono::nanoseconds until_report) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(200);
  auto longest = std::min(choice.longest_wait, kLongest);
  if (queued > 0) longest = std::min(longest, until_report);
  return std::max(longest, std::chrono::nanoseconds(0));
}

}  // namespace gearshift::client

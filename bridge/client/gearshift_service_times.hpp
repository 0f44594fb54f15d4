// How long minibatches take: for each kind a time that few of those to come are above.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

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
    const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), samples) - sizes_.begin();
    times_[std::min(static_cast<std::size_t>(at), sizes_.size() - 1)].add(elapsed);
  }
  // No less than that of a smaller size; of a size not yet seen, by proportion from the next
  // smaller or, where there is none, that of the next larger.
  std::chrono::nanoseconds estimate(std::int32_t size) const {
    std::chrono::nanoseconds found{0};
    std::int32_t found_size = 0;
    for (const std::size_t i : known(size)) {
      found = std::max(found, times_[i].estimate());
      found_size = sizes_[i];
    }
    return found_size > 0 && found_size < size ? found * size / found_size : found;
  }
  // As if the largest had not been seen, of those that the estimate of `size` is from.
  void forget_largest(std::int32_t size) {
    const std::vector<std::size_t> known = this->known(size);
    const auto longest = std::max_element(known.begin(), known.end(), [&](auto one, auto other) {
      return times_[one].estimate() < times_[other].estimate();
    });
    if (longest != known.end()) times_[*longest].forget_largest();
  }
  // The estimate of `size` is not known any more.
  void restart(std::int32_t size) {
    for (const std::size_t i : known(size)) times_[i].restart();
  }

 private:
  // What tells of `size`: all that are known up to it, else the next larger.
  std::vector<std::size_t> known(std::int32_t size) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i] > size && !found.empty()) break;
      if (times_[i].estimate().count() == 0) continue;
      found.push_back(i);
      if (sizes_[i] > size) break;
    }
    return found;
  }

  std::vector<std::int32_t> sizes_;
  std::vector<ServiceTimes> times_;
  std::set<std::int32_t> seen_;  // numbers of samples
};

}  // namespace gearshift::client

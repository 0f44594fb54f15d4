// What is known of settings in which requests alone are served, while nothing that the policy found
// serves them within the cap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "controller/setting.h"

namespace gearshift {

// Settings by the place of their mode in the board's order of unmeasured power, which real power
// follows roughly: what lies beyond one that was soon over the cap is not tried. What has kept it
// for long is remembered with the share of requests that it answered in time.
class Relief {
 public:
  // Of requests: what serves so many is gone back to, where something else was late.
  static constexpr double kServes = 0.9;

  // Another setting is in force from now on.
  void begin() { answered_ = late_ = 0; }
  // Of requests that were answered in it, or refused, so many were late.
  void add(std::uint32_t answered, std::uint32_t late) {
    answered_ += answered;
    late_ += late;
  }
  // Whether what is in force is known to keep the cap; its share of requests is brought up to date.
  bool update(const Setting& setting) {
    Kept* const known = find(setting);
    if (known != nullptr) known->share = share();
    return known != nullptr;
  }
  // What is in force has been for long enough to show that it keeps the cap.
  void keeps(const Setting& setting, std::size_t place) {
    if (kept_.size() == kMost) kept_.erase(std::min_element(kept_.begin(), kept_.end(), less));
    kept_.push_back({setting, place, share()});
  }
  // It was over the cap, before it had kept it for long.
  void exceeds(std::size_t place) {
    end_ = std::min(place, end_.value_or(place));
    std::erase_if(kept_, [&](const Kept& one) { return one.place >= place; });
  }
  // It was over the cap after all. False where it was not known to keep it.
  bool forget(const Setting& setting) {
    return std::erase_if(kept_, [&](const Kept& one) { return one.setting == setting; }) > 0;
  }
  // Only settings that are `offered` can be gone back to from now on. Asks at once, of each.
  template <typename Offered>
  void offer(const Offered& offered) {
    std::erase_if(kept_, [&](const Kept& one) { return !offered(one.setting); });
  }
  // What answers most of those that keep the cap, and more than this share; null: none is known to.
  const Setting* best(double share) const {
    const auto best = std::max_element(kept_.begin(), kept_.end(), less);
    return best == kept_.end() || best->share <= share ? nullptr : &best->setting;
  }
  // Of the requests, answered in time by what is in force: 0 to 1.
  double share() const {
    return answered_ == 0 ? 0 : 1 - static_cast<double>(late_) / static_cast<double>(answered_);
  }
  // The first place that is not to be tried; nullopt while nothing was over the cap.
  std::optional<std::size_t> end() const { return end_; }

  // More requests come: what answered most of fewer may not now.
  void forget_shares() {
    begin();
    for (Kept& one : kept_) one.share = 0;
  }
  // The cap is higher, or the rate of requests another one: more may fit.
  void forget_end() { end_.reset(); }
  void forget() {
    kept_.clear();
    end_.reset();
  }

 private:
  static constexpr std::size_t kMost = 8;
  struct Kept {
    Setting setting;
    std::size_t place = 0;
    double share = 0;
  };
  static bool less(const Kept& one, const Kept& other) { return one.share < other.share; }
  Kept* find(const Setting& setting) {
    const auto found = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const Kept& one) { return one.setting == setting; });
    return found == kept_.end() ? nullptr : &*found;
  }

  std::vector<Kept> kept_;  // the newest last
  std::optional<std::size_t> end_;
  std::uint64_t answered_ = 0, late_ = 0;
};

}  // namespace gearshift

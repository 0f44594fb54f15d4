// What has been observed so far, so that a setting is measured once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/goal.h"
#include "controller/observation.h"

namespace gearshift {

struct SettingHash {
  std::size_t operator()(const Setting& setting) const { return hash(setting); }
};

// For each observation, oldest first, whether its setting was cut short since, by a limit that
// still cuts it: one that once fitted does not fit any more. One measured anew overrules nothing.
std::vector<bool> overruled(std::span<const Observation> observations, const Goal& goal);

// Observations of one set of workloads on one board, in the order they were made; what was set
// aside and came back stands before the others. Spans handed out stay valid until forget(), offer()
// or a full add(): the storage never moves.
class Memory {
 public:
  // Keeps at most `most` observations, and two at least.
  explicit Memory(std::size_t most = 4096);

  // False when the memory was full: the older half was forgotten to make room, and a policy that
  // looks at observations() has to start again.
  bool add(const Observation& observation);
  // The newest observation of the setting, if it still answers. An older one never does.
  const Observation* find(const Setting& setting, std::int64_t cap_mw,
                          double arrivals_per_s = 0) const;
  // The newest observation of the setting, whether or not it still answers.
  const Observation* newest(const Setting& setting) const;
  // The newest observation of the setting, if there is one, tells from now on that requests were
  // late at this rate.
  void mark_late(const Setting& setting, double arrivals_per_s);
  // The newest observation of the setting, if there is one, has these costs from now on.
  void set_cost(const Setting& setting, const std::array<Cost, kKinds>& cost);
  // The best by the goal's objective among settings, but those of `except`, whose newest
  // observation keeps its limits; the earlier one where two tie; null where there is none.
  const Observation* best_within(const Goal& goal,
                                 std::initializer_list<Setting> except = {}) const;
  // Of those that best_within() chooses from and that run inference, the one that draws the least.
  const Observation* least_power_serving(const Goal& goal) const;
  // Of those that are allowed and whose newest observation keeps the cap, what serves the most
  // requests a second in minibatches that end within the latency limit, whatever else it keeps;
  // null where none does.
  const Observation* most_serving(const Goal& goal,
                                  const std::function<bool(const Observation&)>& allowed) const;
  std::span<const Observation> observations() const { return observations_; }
  void forget();
  // Forgets what may be otherwise another time: what was late, cut short for it or found to be
  // later, and what failed (Observation::failed). True where there was any.
  bool forget_passing();
  // True where there is anything that failed.
  bool any_failed() const;
  // Forgets everything, and returns false, if `key` (workload names and kinds) is not the one of
  // the last call.
  bool keep_for(std::string_view key);
  // Only settings that are `offered` are known from now on: observations of others are set aside,
  // at most as many as are kept, and come back once theirs is offered again. Asks at once, of each.
  void offer(const std::function<bool(const Setting&)>& offered);

 private:
  void find_newest();

  std::size_t most_;
  std::string key_;
  std::vector<Observation> observations_;
  std::vector<Observation> aside_;  // of settings that are not offered now, in the same order
  std::unordered_map<Setting, std::size_t, SettingHash> newest_;  // lookup only, never iterated
};

}  // namespace gearshift

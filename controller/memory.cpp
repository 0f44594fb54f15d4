#include "controller/memory.h"

#include <algorithm>
#include <unordered_map>

#include "controller/set_aside.h"

namespace gearshift {

Memory::Memory(std::size_t most) : most_(std::max<std::size_t>(most, 2)) {
  observations_.reserve(most_);
}

bool Memory::add(const Observation& observation) {
  const bool full = observations_.size() == most_;
  if (full) {
    const auto half = static_cast<std::ptrdiff_t>(most_ / 2);
    observations_.erase(observations_.begin(), observations_.begin() + half);
    find_newest();
  }
  newest_[observation.setting] = observations_.size();
  observations_.push_back(observation);
  return !full;
}

void Memory::find_newest() {
  newest_.clear();
  for (std::size_t i = 0; i < observations_.size(); ++i) newest_[observations_[i].setting] = i;
}

bool Memory::forget_passing() {
  const auto passes = [](const Observation& one) {
    return one.outcome == Outcome::late || one.late_per_s > 0 || one.failed();
  };
  const std::size_t forgotten = std::erase_if(observations_, passes);
  std::erase_if(aside_, passes);
  find_newest();
  return forgotten > 0;
}

bool Memory::any_failed() const {
  return std::any_of(observations_.begin(), observations_.end(),
                     [](const Observation& one) { return one.failed(); });
}

const Observation* Memory::find(const Setting& setting, std::int64_t cap_mw,
                                double arrivals_per_s) const {
  const auto found = newest_.find(setting);
  if (found == newest_.end()) return nullptr;
  const Observation& observation = observations_[found->second];
  return observation.answers(cap_mw, arrivals_per_s) ? &observation : nullptr;
}

const Observation* Memory::newest(const Setting& setting) const {
  const auto found = newest_.find(setting);
  return found == newest_.end() ? nullptr : &observations_[found->second];
}

void Memory::mark_late(const Setting& setting, double arrivals_per_s) {
  const auto found = newest_.find(setting);
  if (found != newest_.end()) observations_[found->second].late_per_s = arrivals_per_s;
}

void Memory::set_cost(const Setting& setting, const std::array<Cost, kKinds>& cost) {
  const auto found = newest_.find(setting);
  if (found != newest_.end()) observations_[found->second].cost = cost;
}

const Observation* Memory::best_within(const Goal& goal,
                                       std::initializer_list<Setting> except) const {
  const Observation* best = nullptr;
  for (std::size_t i = 0; i < observations_.size(); ++i) {
    const Observation& observation = observations_[i];
    if (!observation.keeps(goal) || newest_.at(observation.setting) != i) continue;
    if (std::find(except.begin(), except.end(), observation.setting) != except.end()) continue;
    if (best == nullptr || observation.value(goal) < best->value(goal)) {
      best = &observation;
    }
  }
  return best;
}

const Observation* Memory::least_power_serving(const Goal& goal) const {
  const auto draws = [](const Observation& one) { return one.power_mean_mw + one.power_margin_mw; };
  const Observation* least = nullptr;
  for (std::size_t i = 0; i < observations_.size(); ++i) {
    const Observation& observation = observations_[i];
    if (!observation.keeps(goal) || newest_.at(observation.setting) != i) continue;
    if (observation.cost[index(Kind::infer)].minibatches == 0) continue;
    if (least == nullptr || draws(observation) < draws(*least)) least = &observation;
  }
  return least;
}

const Observation* Memory::most_serving(
    const Goal& goal, const std::function<bool(const Observation&)>& allowed) const {
  constexpr Kind kInfer = Kind::infer;
  const Observation* most = nullptr;
  for (std::size_t i = 0; i < observations_.size(); ++i) {
    const Observation& observation = observations_[i];
    const Cost& cost = observation.cost[index(kInfer)];
    if (!observation.within(goal.power_mw.value_or(0)) || cost.minibatches == 0) continue;
    if (newest_.at(observation.setting) != i) continue;
    if (goal.latency && cost.minibatch_mean > *goal.latency) continue;
    const bool more = most == nullptr || observation.sample_s(kInfer) < most->sample_s(kInfer);
    if (more && allowed(observation)) most = &observation;
  }
  return most;
}

void Memory::forget() {
  observations_.clear();
  aside_.clear();
  newest_.clear();
}

bool Memory::keep_for(std::string_view key) {
  if (key == key_) return true;
  forget();
  key_ = key;
  return false;
}

void Memory::offer(const std::function<bool(const Setting&)>& offered) {
  const auto asked = [&](const Observation& one) { return offered(one.setting); };
  if (set_aside(observations_, aside_, most_, asked)) find_newest();
}

std::vector<bool> overruled(std::span<const Observation> observations, const Goal& goal) {
  std::vector<bool> found(observations.size());
  std::unordered_map<Setting, bool, SettingHash> newest_fits;
  for (std::size_t i = observations.size(); i-- > 0;) {
    const Observation& observation = observations[i];
    const auto newest = newest_fits.find(observation.setting);
    if (newest != newest_fits.end()) {
      found[i] = !newest->second;
    } else if (observation.answers(goal.power_mw.value_or(0), goal.arrivals_per_s)) {
      newest_fits.emplace(observation.setting, observation.ok());
    }
  }
  return found;
}

}  // namespace gearshift

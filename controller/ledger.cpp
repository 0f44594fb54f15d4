#include "controller/ledger.h"

#include <algorithm>

namespace gearshift {
namespace {

// Whether the newest epoch was seen from its first minibatch on.
bool seen_to_begin(const std::vector<Epoch>& epochs) {
  if (epochs.back().number == 0) return true;
  return epochs.size() > 1 && epochs[epochs.size() - 2].workload == epochs.back().workload;
}

// A machine that was suspended drew next to nothing, and nobody read what.
constexpr double kLongestSpanS = 5;

}  // namespace

Ledger::Ledger() {
  for (auto& epochs : epochs_) epochs.reserve(kMostEpochs);
}

void Ledger::add(const Minibatch& minibatch, std::int64_t samples_per_epoch) {
  auto& epochs = epochs_[index(minibatch.kind)];
  const bool same = !epochs.empty() && epochs.back().workload == minibatch.workload;
  const bool next = !same || epochs.back().number != minibatch.epoch;
  Unclaimed& unclaimed = unclaimed_[index(minibatch.kind)];
  unclaimed.arrived = true;
  unclaimed.arrived_s += seconds(minibatch.elapsed);
  unclaimed.opened = unclaimed.opened || next;
  if (next && epochs.size() < kMostEpochs) {
    if (same && seen_to_begin(epochs)) epochs.back().complete = true;
    epochs.push_back({.number = minibatch.epoch, .workload = minibatch.workload});
  }
  Epoch& epoch = epochs.back();
  ++epoch.minibatches;
  epoch.samples += static_cast<std::uint64_t>(minibatch.batch_size);
  const bool whole =
      samples_per_epoch > 0 && epoch.samples >= static_cast<std::uint64_t>(samples_per_epoch);
  epoch.complete = whole && epochs.size() < kMostEpochs;  // what is added up is no epoch
  epoch.elapsed += minibatch.elapsed;
  epoch.fetch_stall += minibatch.fetch_stall;
  epoch.compute += minibatch.compute;
}

void Ledger::add(const RequestReport& report) {
  requests_.arrived += report.arrived;
  requests_.served += report.served;
  requests_.late += report.late;
  requests_.refused += report.refused;
  requests_.latency_max = std::max(requests_.latency_max, report.latency_max);
}

// An epoch that begins claims no more than its minibatches took: what came before them was a pause.
void Ledger::claim(Unclaimed& unclaimed, Epoch& epoch) {
  const double share =
      unclaimed.opened ? std::min(1.0, unclaimed.arrived_s / unclaimed.span_s) : 1.0;
  epoch.energy_j += share * unclaimed.energy_j;
  unclaimed = {};
}

void Ledger::tick(Time now, std::optional<std::int64_t> power_mw,
                  std::optional<std::int64_t> cap_mw) {
  const double span_s = last_ ? seconds(now - *last_) : 0;
  last_ = now;
  if (!power_mw || span_s <= 0 || span_s > kLongestSpanS) return;
  const double power_w = static_cast<double>(*power_mw) / 1000.0;
  energy_j_ += power_w * span_s;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    unclaimed_[kind].energy_j += power_w * span_s;
    unclaimed_[kind].span_s += span_s;
    if (unclaimed_[kind].arrived) claim(unclaimed_[kind], epochs_[kind].back());
  }
  if (cap_mw && *power_mw > *cap_mw) {
    over_cap_s_ += span_s;
    over_cap_j_ += (power_w - static_cast<double>(*cap_mw) / 1000.0) * span_s;
  }
}

}  // namespace gearshift

#include "bridge/turns.h"

#include <algorithm>

namespace gearshift {

bool Turns::waits(const Turn& turn) const {
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&turn](const Waiting& one) { return one.turn == turn; });
}

bool Turns::request(WorkloadHandle workload, Kind kind, std::uint64_t number) {
  const Turn turn{workload, number};
  if (held_ == turn) return true;
  if (waits(turn)) return false;
  leave(workload);
  waiting_.push_back({turn, kind});
  return false;
}

void Turns::end(WorkloadHandle workload, std::uint64_t number) {
  const Turn turn{workload, number};
  if (held_ == turn) held_.reset();
  std::erase_if(waiting_, [&turn](const Waiting& one) { return one.turn == turn; });
}

void Turns::rename(WorkloadHandle before, WorkloadHandle after) {
  if (held_ && held_->workload == before) held_->workload = after;
}

bool Turns::knows(WorkloadHandle workload, std::uint64_t number) const {
  const Turn turn{workload, number};
  return held_ == turn || waits(turn);
}

void Turns::leave(WorkloadHandle workload) {
  std::erase_if(waiting_, [workload](const Waiting& one) { return one.turn.workload == workload; });
  if (held_ && held_->workload == workload) held_.reset();
}

std::optional<Turns::Turn> Turns::expire(Time now) {
  if (!held_ || now - since_ < longest_) return std::nullopt;
  const Turn lost = *held_;
  held_.reset();
  return lost;
}

std::optional<Turns::Turn> Turns::grant(Time now) {
  if (held_ || waiting_.empty()) return std::nullopt;
  auto next = std::find_if(waiting_.begin(), waiting_.end(),
                           [](const Waiting& one) { return one.kind == Kind::infer; });
  if (next == waiting_.end()) next = waiting_.begin();
  held_ = next->turn;
  since_ = now;
  waiting_.erase(next);
  return held_;
}

std::optional<Time> Turns::due() const {
  if (!held_) return std::nullopt;
  return since_ + longest_;
}

}  // namespace gearshift

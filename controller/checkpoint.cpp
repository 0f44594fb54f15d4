#include "controller/checkpoint.h"

#include <algorithm>

namespace gearshift {

void Checkpoint::attach(const Workload& workload) {
  if (workload.saves) savers_.push_back({.handle = workload.handle});
}

// Who left is waited for no longer, and where nobody is left who saves nobody waits.
void Checkpoint::detach(WorkloadHandle handle) {
  for (Saver& saver : savers_) {
    if (saver.handle == handle && saver.stage == Stage::asked) end(saver);
  }
  std::erase_if(savers_, [handle](const Saver& saver) { return saver.handle == handle; });
  if (savers_.empty()) over_ = false;
}

const std::vector<WorkloadHandle>& Checkpoint::ask(World& world, Time now) {
  newly_asked_.clear();
  if (over_) return newly_asked_;
  for (Saver& saver : savers_) {
    if (saver.stage != Stage::idle) continue;
    saver.stage = Stage::asked;
    saver.sequence = ++sequence_;
    saver.asked = now;
    world.command(
        saver.handle,
        {.sequence = saver.sequence, .type = CommandType::checkpoint, .within = timeout_});
    newly_asked_.push_back(saver.handle);
  }
  return newly_asked_;
}

void Checkpoint::forget() {
  for (Saver& saver : savers_) saver.stage = Stage::idle;
  over_ = false;
}

bool Checkpoint::answer(const Event& event) {
  for (Saver& saver : savers_) {
    const bool asked = saver.handle == event.handle && saver.sequence == event.set_sequence;
    if (!asked || saver.stage != Stage::asked) continue;
    end(saver);
    return true;
  }
  return false;
}

std::optional<WorkloadHandle> Checkpoint::take_overdue(Time now) {
  for (Saver& saver : savers_) {
    if (saver.stage != Stage::asked || now - saver.asked < timeout_) continue;
    end(saver);
    return saver.handle;
  }
  return std::nullopt;
}

bool Checkpoint::pending() const {
  return std::any_of(savers_.begin(), savers_.end(),
                     [](const Saver& saver) { return saver.stage == Stage::asked; });
}

void Checkpoint::end(Saver& saver) {
  saver.stage = Stage::through;
  over_ = !pending();
}

}  // namespace gearshift

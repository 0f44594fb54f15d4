#include "simulator/faulty_world.h"

#include <algorithm>

namespace gearshift {
namespace {

// Handles of the world below are small; each return adds this much.
constexpr WorkloadHandle kNextHandle = 16;

}  // namespace

FaultyWorld::Trainer* FaultyWorld::by_hello(WorkloadHandle handle) {
  for (auto& trainer : trainers_) {
    if (trainer && trainer->hello.handle == handle) return &*trainer;
  }
  return nullptr;
}

FaultyWorld::Trainer* FaultyWorld::by_handle(WorkloadHandle handle) {
  for (auto& trainer : trainers_) {
    if (trainer && !trainer->vanished && trainer->handle == handle) return &*trainer;
  }
  return nullptr;
}

bool FaultyWorld::pass(Event& event, Time now) {
  if (event.type == EventType::attached) {
    trainers_[index(event.workload.kind)] =
        Trainer{.hello = event.workload, .handle = event.handle};
    return true;
  }
  Trainer* trainer = by_hello(event.handle);
  if (trainer == nullptr) return true;
  if (event.type == EventType::applied || event.type == EventType::refused) {
    trainer->answered = std::max(trainer->answered, event.set_sequence);
    if (event.set_sequence <= trainer->forgotten) return false;
  }
  if (event.type == EventType::minibatch) {
    // A server's batch may be less than it runs with: as many samples as had come.
    if (trainer->hello.kind == Kind::train) {
      trainer->hello.batch_size = event.minibatch.batch_size;
    }
    if (active_fault(plan_, FaultKind::trainer_stalls, now) != nullptr) return false;
    if (event.minibatch.set_sequence <= trainer->forgotten) event.minibatch.set_sequence = 0;
    event.minibatch.workload = trainer->handle;
  }
  if (event.type == EventType::requests) {
    if (event.requests.set_sequence <= trainer->forgotten) event.requests.set_sequence = 0;
    event.requests.workload = trainer->handle;
  }
  event.handle = trainer->handle;
  return !trainer->vanished;
}

Time FaultyWorld::wait_until(Time deadline, EventBuffer& events) {
  const std::size_t first = events.size();
  const Time now = world_.wait_until(deadline, events);
  const auto begin = events.begin() + static_cast<std::ptrdiff_t>(first);
  events.erase(
      std::remove_if(begin, events.end(), [this, now](Event& event) { return !pass(event, now); }),
      events.end());
  const bool vanishes = active_fault(plan_, FaultKind::trainer_vanishes, now) != nullptr;
  for (auto& trainer : trainers_) {
    if (!trainer) continue;
    if (vanishes && !trainer->vanished) {
      trainer->vanished = true;
      Event& event = events.emplace_back();
      event.type = EventType::detached;
      event.handle = trainer->handle;
      event.text = BoundedText<96>("silent: a simulated fault");
    } else if (!vanishes && trainer->vanished && trainer->answered == trainer->asked) {
      trainer->vanished = false;
      trainer->forgotten = trainer->asked;
      trainer->handle = static_cast<WorkloadHandle>(trainer->handle + kNextHandle);
      Event& event = events.emplace_back();
      event.type = EventType::attached;
      event.handle = trainer->handle;
      event.workload = trainer->hello;
      event.workload.handle = trainer->handle;
    }
  }
  return now;
}

void FaultyWorld::command(WorkloadHandle workload, const WorkloadCommand& command) {
  Trainer* trainer = by_handle(workload);
  if (trainer == nullptr) return;
  trainer->asked = command.sequence;
  world_.command(trainer->hello.handle, command);
}

}  // namespace gearshift

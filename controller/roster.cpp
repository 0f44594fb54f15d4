#include "controller/roster.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// Of one wait: who cannot wait is not asked in every tick.
constexpr std::uint32_t kMostRefusals = 3;

// A minibatch in the lowest mode may take longer than any before it.
constexpr Duration kLeastPatience = std::chrono::seconds(10);
constexpr int kMinibatches = 3;

}  // namespace

bool Roster::attach(const Workload& workload) {
  ++attached_;
  auto& slot = managed_[index(workload.kind)];
  if (!workload.managed || slot) return false;
  slot = Managed{.workload = workload};
  slot->batch_size = slot->in_force = workload.batch_size;
  return true;
}

bool Roster::detach(WorkloadHandle handle) {
  if (attached_ > 0) --attached_;
  for (auto& slot : managed_) {
    if (!slot || slot->workload.handle != handle) continue;
    slot.reset();
    return true;
  }
  return false;
}

const Workload* Roster::managed(Kind kind) const {
  const auto& slot = managed_[index(kind)];
  return slot ? &slot->workload : nullptr;
}

std::array<const Workload*, kKinds> Roster::managed() const {
  return {managed(Kind::train), managed(Kind::infer)};
}

bool Roster::any_managed() const { return managed_[0] || managed_[1]; }

std::string Roster::key() const {
  std::string key;
  for (const auto& slot : managed_) {
    if (!slot) continue;
    key += kind_name(slot->workload.kind);
    key += ':';
    key += slot->workload.name.view();
    key += ' ';
  }
  return key;
}

bool Roster::trains_and_serves() const {
  return managed(Kind::train) != nullptr && managed(Kind::infer) != nullptr;
}

Setting Roster::normalised(Setting setting) const {
  for (const Kind kind : {Kind::train, Kind::infer}) {
    if (!managed(kind)) setting.batch_size[index(kind)] = 0;
  }
  const bool trains = managed(Kind::train) != nullptr;
  const bool infers = managed(Kind::infer) != nullptr;
  if (setting.run == Run::both && trains != infers) setting.run = trains ? Run::train : Run::infer;
  return setting;
}

Setting Roster::with_batches(Setting setting) const {
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Workload* workload = managed(kind);
    std::int32_t& batch_size = setting.batch_size[index(kind)];
    if (workload == nullptr) {
      batch_size = 0;
    } else if (batch_size == 0) {
      batch_size = workload->batch_size;
    }
  }
  return setting;
}

Setting Roster::with_all(Setting setting) const {
  setting.run = Run::both;
  return normalised(with_batches(setting));
}

Setting Roster::with_smallest_batches(Setting setting) const {
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Workload* workload = managed(kind);
    std::int32_t& batch_size = setting.batch_size[index(kind)];
    if (workload == nullptr || workload->batch_size_count == 0 || batch_size == 0) continue;
    batch_size = std::min(batch_size, workload->batch_sizes[0]);
  }
  return setting;
}

std::optional<std::string> Roster::objection(const Setting& setting) const {
  bool one_runs = false;
  for (const auto& slot : managed_) {
    if (!slot) continue;
    const Workload& workload = slot->workload;
    one_runs = one_runs || runs(setting.run, workload.kind);
    const std::int32_t wanted = setting.batch_size[index(workload.kind)];
    if (!workload.offers(wanted)) {
      return "batch size " + std::to_string(wanted) + " is not one that " +
             std::string(workload.name.view()) + " allows";
    }
  }
  if (!one_runs) return "run = " + std::string(run_name(setting.run)) + " leaves nothing to run";
  return std::nullopt;
}

void Roster::command(World& world, const Setting& setting) {
  for (auto& slot : managed_) {
    if (!slot) continue;
    const std::int32_t batch_size = setting.batch_size[index(slot->workload.kind)];
    const Kind kind = slot->workload.kind;
    const bool same_run = runs(slot->run, kind) == runs(setting.run, kind);
    if (slot->batch_size == batch_size && same_run) continue;
    slot->batch_size = batch_size;
    slot->run = setting.run;
    slot->refusals = 0;
    slot->ends = 0;
    slot->asked = ++sequence_;
    world.command(slot->workload.handle, {slot->asked, batch_size, setting.run});
  }
}

void Roster::pause(World& world) {
  for (auto& slot : managed_) {
    if (!slot || !runs(slot->run, slot->workload.kind)) continue;
    if (slot->refusals == kMostRefusals) continue;
    slot->batch_size = slot->in_force > 0 ? slot->in_force : slot->workload.batch_size;
    slot->run = slot->workload.kind == Kind::train ? Run::infer : Run::train;
    slot->asked = ++sequence_;
    world.command(slot->workload.handle, {slot->asked, slot->batch_size, slot->run});
  }
}

void Roster::applied(const Event& event) {
  for (auto& slot : managed_) {
    if (slot && slot->workload.handle == event.handle && event.set_sequence <= slot->asked) {
      slot->answered = std::max(slot->answered, event.set_sequence);
      slot->in_force = event.batch_size;
      slot->refusals = 0;
    }
  }
}

bool Roster::refused(const Event& event) {
  for (auto& slot : managed_) {
    if (!slot || slot->workload.handle != event.handle) continue;
    // Sequence 0 is no command: a client cannot refuse what nobody asked.
    if (slot->asked == 0 || event.set_sequence != slot->asked) continue;
    if (!runs(slot->run, slot->workload.kind)) ++slot->refusals;
    give_up(*slot);
    return true;
  }
  return false;
}

// Whatever it runs with now is not what was asked, and it may run: ask again next time.
void Roster::give_up(Managed& slot) {
  slot.answered = slot.asked;
  slot.batch_size = -1;
  slot.run = Run::both;
}

bool Roster::withdraw(WorkloadHandle handle, std::int32_t least, std::int32_t most) {
  for (auto& slot : managed_) {
    if (!slot || slot->workload.handle != handle) continue;
    Workload& workload = slot->workload;
    const auto goes = [&](std::int32_t batch_size) {
      return batch_size >= least && batch_size <= most && batch_size != slot->in_force;
    };
    auto* const begin = workload.batch_sizes.begin();
    auto* const end = std::remove_if(begin, begin + workload.batch_size_count, goes);
    const auto left = static_cast<std::uint8_t>(end - begin);
    const bool any = left != workload.batch_size_count || goes(workload.batch_size);
    workload.batch_size_count = left;
    if (goes(workload.batch_size)) workload.batch_size = slot->in_force;
    if (slot->answered != slot->asked && goes(slot->batch_size)) give_up(*slot);
    return any;
  }
  return false;
}

const Workload* Roster::ignoring() const {
  for (const auto& slot : managed_) {
    if (!slot || slot->answered == slot->asked || slot->batch_size == slot->in_force) continue;
    if (slot->ends >= kMostFetched && !slot->silent) return &slot->workload;
  }
  return nullptr;
}

std::int32_t Roster::asked_batch(Kind kind) const {
  const auto& slot = managed_[index(kind)];
  return slot ? slot->batch_size : 0;
}

bool Roster::settled() const {
  return std::all_of(managed_.begin(), managed_.end(),
                     [](const auto& slot) { return !slot || slot->answered == slot->asked; });
}

Duration Roster::answers_within() const {
  Duration longest{};
  for (const auto& slot : managed_) {
    if (!slot || slot->answered == slot->asked) continue;
    longest =
        std::max({longest, kLeastPatience, kMinibatches * slot->times.expected(slot->in_force)});
  }
  return longest;
}

bool Roster::awaits_smaller_batches() const {
  return std::any_of(managed_.begin(), managed_.end(), [](const auto& slot) {
    return slot && slot->answered != slot->asked && slot->batch_size < slot->in_force;
  });
}

bool Roster::awaits_batches() const {
  return std::any_of(managed_.begin(), managed_.end(), [](const auto& slot) {
    return slot && slot->answered != slot->asked && slot->batch_size != slot->in_force;
  });
}

bool Roster::rests(Kind kind) const {
  const auto& slot = managed_[index(kind)];
  return !slot || (!runs(slot->run, kind) && slot->answered == slot->asked);
}

std::int32_t Roster::running_batch(Kind kind) const {
  const auto& slot = managed_[index(kind)];
  return slot ? slot->in_force : 0;
}

void Roster::add(const Minibatch& minibatch) {
  auto& slot = managed_[index(minibatch.kind)];
  if (!slot || slot->workload.handle != minibatch.workload) return;
  slot->warm = true;
  slot->silent = false;
  ++slot->ends;
  slot->heard = minibatch.received;
  slot->times.add(minibatch);
}

bool Roster::may_follow(Time now, Time since, std::uint32_t most_ends, Duration stall_after) const {
  return std::all_of(managed_.begin(), managed_.end(), [&](const auto& slot) {
    if (!slot || slot->answered == slot->asked) return true;
    const Duration patience = slot->times.patience(slot->in_force, stall_after);
    return slot->ends < most_ends && now - std::max(slot->heard, since) <= patience;
  });
}

bool Roster::find_silent(Time now, Time since, Duration stall_after) {
  for (auto& slot : managed_) {
    if (!slot || !slot->warm || !runs(slot->run, slot->workload.kind)) continue;
    const Duration patience = slot->times.patience(slot->in_force, stall_after);
    slot->silent = slot->silent || now - std::max(slot->heard, since) > patience;
  }
  return silent();
}

bool Roster::silent() const {
  const auto reports = [](const auto& slot) {
    return slot && !slot->silent && runs(slot->run, slot->workload.kind);
  };
  const auto waits = [](const auto& slot) {
    return !slot || !runs(slot->run, slot->workload.kind);
  };
  return std::none_of(managed_.begin(), managed_.end(), reports) &&
         !std::all_of(managed_.begin(), managed_.end(), waits);
}

bool Roster::heard_since(Time since) const {
  return std::any_of(managed_.begin(), managed_.end(), [since](const auto& slot) {
    return slot && slot->heard > since && runs(slot->run, slot->workload.kind);
  });
}

std::array<Expected, kKinds> Roster::expected(const Setting& setting, double arrivals_per_s) const {
  std::array<Expected, kKinds> expected{};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!managed_[kind]) continue;
    expected[kind] = {runs(setting.run, managed_[kind]->workload.kind),
                      managed_[kind]->warm,
                      managed_[kind]->asked,
                      managed_[kind]->times,
                      {}};
  }
  if (arrivals_per_s > 0) {
    const double batch = setting.batch_size[index(Kind::infer)];
    expected[index(Kind::infer)].comes_every = Duration(std::llround(1e9 * batch / arrivals_per_s));
  }
  return expected;
}

}  // namespace gearshift

// The workloads that are attached, which of them are managed, and what they were last asked for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "controller/event.h"
#include "controller/meter.h"
#include "controller/setting.h"
#include "controller/world.h"

namespace gearshift {

class Roster {
 public:
  // Minibatches that a loader may have fetched before it hears of another size.
  static constexpr std::uint32_t kMostFetched = 16;

  // True when the workload is managed from now on.
  bool attach(const Workload& workload);
  // True when it was a managed one.
  bool detach(WorkloadHandle handle);
  const Workload* managed(Kind kind) const;
  std::array<const Workload*, kKinds> managed() const;
  bool any_managed() const;
  bool trains_and_serves() const;  // a workload of each kind is managed
  std::uint32_t attached() const { return attached_; }
  // Names the managed workloads and their kinds: what observations are remembered for.
  std::string key() const;

  // The setting with what does not apply taken out: batch sizes of absent kinds are 0, and `both`
  // becomes the one kind that is there.
  Setting normalised(Setting setting) const;
  // Batch sizes of kinds that it leaves out are those at attach; of absent kinds they are 0.
  Setting with_batches(Setting setting) const;
  // That, and nobody waits.
  Setting with_all(Setting setting) const;
  // No batch is larger than the smallest that its workload offers.
  Setting with_smallest_batches(Setting setting) const;
  // Nullopt when the managed workloads can be asked for the setting; else why not.
  std::optional<std::string> objection(const Setting& setting) const;

  // Asks every managed workload whose batch size or run differs from what it was asked last.
  void command(World& world, const Setting& setting);
  // Asks every managed workload to wait, by asking for the other kind to run. Batch sizes are those
  // in force, since another one may be refused, and the wait with it.
  void pause(World& world);
  void applied(const Event& event);
  // Of who has this handle, batches of `least` to `most` samples are offered no more; those that it
  // runs are. A command for one of them is given up, as if it had been refused. True where any was
  // offered.
  bool withdraw(WorkloadHandle handle, std::int32_t least, std::int32_t most);
  // Who was asked for other batches, has used up what a loader may have fetched since, and goes on
  // with its own; null: nobody.
  const Workload* ignoring() const;
  // What it was asked for last, or as attached; 0 where nobody of this kind is managed.
  std::int32_t asked_batch(Kind kind) const;
  // True when the refusal answers the newest command.
  bool refused(const Event& event);
  // True when every command has been answered.
  bool settled() const;
  // What those who have not answered their newest command may take to end their minibatch, after
  // which a workload waits as it was asked to: a few times what one may well take, ten seconds at
  // least. Zero where all have answered.
  Duration answers_within() const;
  // True where no workload of this kind is managed, or it waits as it was asked to.
  bool rests(Kind kind) const;
  // True while a workload still runs larger batches than it was asked for last.
  bool awaits_smaller_batches() const;
  // True while a workload still runs other batches than it was asked for last.
  bool awaits_batches() const;
  // The batch size that the managed workload of a kind runs, by its newest answer; 0 where there is
  // none.
  std::int32_t running_batch(Kind kind) const;
  // False once a workload that has not answered will hardly do so any more: it was asked at `since`
  // or before, and has ended `most_ends` minibatches without following, or stalls.
  bool may_follow(Time now, Time since, std::uint32_t most_ends, Duration stall_after) const;
  void add(const Minibatch& minibatch);  // marks its workload as warm
  // Whoever runs, has reported before, and has not for `stall_after` since `since`, or for longer
  // where its minibatches take long, is silent until its next minibatch. True as silent() is.
  bool find_silent(Time now, Time since, Duration stall_after);
  // True while all who run are: training beside requests may only be starved.
  bool silent() const;
  // True where anybody who runs has reported a minibatch after `since`.
  bool heard_since(Time since) const;
  // What the setting's minibatches are measured against, with requests that come so often.
  std::array<Expected, kKinds> expected(const Setting& setting, double arrivals_per_s = 0) const;

 private:
  struct Managed {
    Workload workload;
    bool warm = false;
    bool silent = false;
    std::int32_t batch_size = 0;  // last asked for, or as attached
    std::int32_t in_force = 0;    // by its newest answer
    Run run = Run::both;
    std::uint32_t asked = 0;  // sequence of the last command; 0: none
    std::uint32_t answered = 0;
    std::uint32_t refusals = 0;  // to wait, since it last took a command or was to run
    std::uint32_t ends = 0;      // of minibatches, since the last command
    Time heard{};                // when the newest came
    MinibatchTimes times{};
  };
  static void give_up(Managed& slot);

  std::array<std::optional<Managed>, kKinds> managed_;
  std::uint32_t attached_ = 0;
  std::uint32_t sequence_ = 0;
};

}  // namespace gearshift

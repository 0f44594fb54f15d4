// A world in virtual time with one pretended trainer, a policy that follows a list, and a recorder
// that keeps everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/policy.h"
#include "controller/recorder.h"
#include "controller/world.h"
#include "tests/fakes/fake_board.h"
#include "tests/fakes/fake_server.h"

namespace gearshift::fakes {

inline Workload trainer(WorkloadHandle handle = 1, std::string_view name = "resnet18") {
  Workload workload;
  workload.handle = handle;
  workload.managed = true;
  workload.pid = 4242;
  workload.batch_size = 16;
  workload.batch_sizes = {8, 16, 32};
  workload.batch_size_count = 3;
  workload.samples_per_epoch = 320;
  workload.name = BoundedText<64>(name);
  return workload;
}

// Scripted events by time; a trainer whose minibatch takes 40 ms at 4 cores and 900 MHz and longer
// below. Ends with a stop event at `end`.
class FakeWorld : public World {
 public:
  FakeWorld(Hardware& hardware, Duration end) : hardware_(hardware), end_(Time{} + end) {}

  // The machine sleeps from `time` on: the loop's clock goes on, and nobody does anything.
  void suspend(Duration time, Duration span) { suspensions_.emplace(Time{} + time, span); }
  void at(Duration time, const Event& event) { script_events_.emplace(Time{} + time, event); }
  void at(Duration time, std::function<void()> change) {
    changes_.emplace(Time{} + time, std::move(change));
  }
  void attach(Duration time, const Workload& workload = trainer()) {
    Event event;
    event.type = EventType::attached;
    event.handle = workload.handle;
    event.workload = workload;
    at(time, event);
    at(time, [this, workload] {
      running_ = workload;
      next_ = now_ + minibatch();
    });
  }
  // Beside the trainer, if there is one.
  FakeServer& attach_server(Duration time, double per_s,
                            const Workload& workload = fakes::server()) {
    Event event;
    event.type = EventType::attached;
    event.handle = workload.handle;
    event.workload = workload;
    at(time, event);
    server_handle_ = workload.handle;
    server_.emplace(hardware_, workload);
    at(time, [this, per_s] { server_->per_s = per_s; });  // no request comes before
    return *server_;
  }
  void cap(Duration time, std::int64_t power_mw) {
    Event event;
    event.type = EventType::cap;
    event.power_mw = power_mw;
    at(time, event);
  }
  void detach(Duration time, WorkloadHandle handle = 1, std::string_view why = kSaidBye) {
    Event event;
    event.type = EventType::detached;
    event.handle = handle;
    event.text = BoundedText<96>(why);
    at(time, event);
    at(time, [this] {
      running_.reset();
      paused_ = false;
    });
  }

  Duration minibatch() const {
    const double slowdown = 900000.0 / static_cast<double>(hardware_.values[1]) *
                            (4.0 + static_cast<double>(hardware_.values[0])) /
                            (2.0 * static_cast<double>(hardware_.values[0]));
    const double batch = running_ ? (4.0 + running_->batch_size) / 20.0 : 1.0;
    return Duration(static_cast<std::int64_t>(40e6 * slowdown * batch * slower));
  }

  Time wait_until(Time deadline, EventBuffer& events) override {
    Time until = std::max(deadline, now_);
    const auto next = script_events_.begin();
    if (next != script_events_.end() && urgent(next->second.type)) {
      until = std::min(until, std::max(now_, next->first));
    }
    now_ = until;
    if (!suspensions_.empty() && now_ >= suspensions_.begin()->first) {
      now_ += suspensions_.begin()->second;
      next_ += suspensions_.begin()->second;
      suspensions_.erase(suspensions_.begin());
    }
    for (auto it = changes_.begin(); it != changes_.end() && it->first <= now_;) {
      it->second();
      it = changes_.erase(it);
    }
    const bool trains = running_.has_value() && !stalled && !paused_;
    const bool serves = running_.has_value() && !stalled && server_ && !server_->waits;
    hardware_.loaded = trains || serves;
    hardware_.trains = trains;
    for (auto it = script_events_.begin(); it != script_events_.end() && it->first <= now_;) {
      events.push_back(it->second);
      it = script_events_.erase(it);
    }
    produce_minibatches(events);
    if (server_) server_->produce(now_, events);
    for (const Event& event : answers_) events.push_back(event);
    answers_.clear();
    if (now_ >= end_) {
      Event stop;
      stop.type = EventType::stop;
      stop.text = BoundedText<96>("end of the test");
      events.push_back(stop);
    }
    return now_;
  }
  void command(WorkloadHandle workload, const WorkloadCommand& command) override {
    if (command.type == CommandType::checkpoint) {
      checkpoints.push_back(command);
      if (saves_after) at(now_ - Time{} + *saves_after, saved(workload, command.sequence));
      return;
    }
    commands.push_back(command);
    addressees_.push_back(workload);
    const bool serves = server_ && workload == server_handle_;
    if (silent || (!running_ && !serves)) return;
    if (ignore_from > 0 && command.batch_size >= ignore_from) return;
    if (prefetched > 0 && !serves) {
      fetch(command);
      return;
    }
    if (answers_after > Duration{} && !refuse_commands && !serves) {
      Event event;
      event.type = EventType::applied;
      event.handle = workload;
      event.set_sequence = command.sequence;
      event.batch_size = command.batch_size;
      const Duration then = now_ - Time{} + answers_after;
      at(then, event);
      at(then, [this, command] { follow(command); });
      return;
    }
    Event event;
    const bool refuses = refuse_commands || (refuse_from > 0 && command.batch_size >= refuse_from);
    event.type = refuses ? EventType::refused : EventType::applied;
    event.handle = workload;
    event.set_sequence = command.sequence;
    event.batch_size = command.batch_size;
    event.text = BoundedText<96>(refusal);
    answers_.push_back(event);
    if (refuses) return;
    if (fails_from > 0 && command.batch_size >= fails_from) go_back(event);
    if (serves) {
      server_->command(command);
    } else {
      follow(command);
    }
  }
  std::string_view script() override { return script_text; }
  void publish(const Status& status) override { published = status; }
  Time now() const { return now_; }
  std::vector<WorkloadCommand> commands_to(WorkloadHandle workload) const {
    std::vector<WorkloadCommand> found;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (addressees_[i] == workload) found.push_back(commands[i]);
    }
    return found;
  }

  static Event saved(WorkloadHandle workload, std::uint32_t checkpoint) {
    Event event;
    event.type = EventType::saved;
    event.handle = workload;
    event.set_sequence = checkpoint;
    event.text = BoundedText<96>("2 s");
    return event;
  }

  std::vector<WorkloadCommand> commands;
  std::vector<WorkloadCommand> checkpoints;
  std::optional<Duration> saves_after;  // nullopt: the workload never answers a checkpoint
  std::string script_text;
  Status published;
  bool silent = false;  // the workload answers no command
  bool refuse_commands = false;
  std::int32_t refuse_from = 0;         // batches of so many samples and more; 0: none
  std::string_view refusal = "cannot";  // with its code first, where it has one
  std::int32_t fails_from = 0;          // they are taken up, and then found not to fit into memory
  std::int32_t ignore_from = 0;         // batches of so many samples and more are not taken up
  Duration answers_after{};             // what was prefetched takes so long
  int prefetched = 0;  // so many minibatches run before another batch size does; a wait needs none
  bool stalled = false;  // the workload reports no minibatch
  double slower = 1;     // times the workload takes so much longer

 private:
  // As the daemon hears of a size that failed when it ran: what is in force now, and the refusal.
  void go_back(Event event) {
    const Duration failed_at = now_ - Time{} + std::chrono::seconds(1);
    event.batch_size = running_->batch_sizes[0];
    at(failed_at, event);
    at(failed_at, [this, event] { follow({event.set_sequence, event.batch_size, Run::both}); });
    event.type = EventType::refused;
    event.batch_size = commands.back().batch_size;
    event.text = BoundedText<96>("memory: it does not fit");
    at(failed_at, event);
  }
  // Who waits keeps what is fetched, and goes on with that.
  void fetch(const WorkloadCommand& command) {
    paused_ = command.run == Run::infer;
    const bool same = command.batch_size == running_->batch_size;
    const bool on_its_way = fetching_ && fetching_->batch_size == command.batch_size;
    if (!same && !on_its_way) fetched_ = prefetched;
    if (!same) fetching_ = command;
    if (!same && !paused_) return;
    answers_.push_back(applied(command.sequence));
  }
  Event applied(std::uint32_t sequence) const {
    Event event;
    event.type = EventType::applied;
    event.handle = running_->handle;
    event.set_sequence = sequence;
    event.batch_size = running_->batch_size;
    return event;
  }
  void use_up_fetched(EventBuffer& events) {
    if (!fetching_ || --fetched_ > 0) return;
    follow(*fetching_);
    events.push_back(applied(fetching_->sequence));
    fetching_.reset();
  }
  void follow(const WorkloadCommand& command) {
    paused_ = command.run == Run::infer;
    if (!running_) return;
    running_->batch_size = command.batch_size;
    hardware_.batch_size = command.batch_size;
    set_sequence_ = command.sequence;
  }
  void produce_minibatches(EventBuffer& events) {
    if (stalled) next_ = std::max(next_, now_ + minibatch());
    while (running_ && !stalled && next_ <= now_) {
      if (paused_) {
        next_ = now_ + minibatch();
        return;
      }
      Event event;
      event.type = EventType::minibatch;
      event.handle = running_->handle;
      Minibatch& minibatch_event = event.minibatch;
      minibatch_event.workload = running_->handle;
      minibatch_event.kind = running_->kind;
      minibatch_event.batch_size = running_->batch_size;
      minibatch_event.set_sequence = set_sequence_;
      minibatch_event.sequence = ++minibatches_;
      minibatch_event.epoch = static_cast<std::uint32_t>(minibatches_ / 20);
      minibatch_event.elapsed = minibatch();
      minibatch_event.compute = minibatch() * 9 / 10;
      minibatch_event.fetch_stall = minibatch() / 20;
      minibatch_event.received = next_;
      events.push_back(event);
      use_up_fetched(events);
      next_ += minibatch();
    }
  }

  Hardware& hardware_;
  Time end_;
  Time now_{};
  Time next_{};
  std::multimap<Time, Event> script_events_;
  std::multimap<Time, std::function<void()>> changes_;
  std::multimap<Time, Duration> suspensions_;
  std::optional<Workload> running_;
  bool paused_ = false;
  std::optional<FakeServer> server_;
  WorkloadHandle server_handle_ = 0;
  std::vector<WorkloadHandle> addressees_;  // of `commands`
  std::vector<Event> answers_;
  std::optional<WorkloadCommand> fetching_;  // followed once what was fetched before is used up
  int fetched_ = 0;                          // minibatches until then
  std::uint32_t set_sequence_ = 0;
  std::uint64_t minibatches_ = 0;
};

// Asks for what `decide` says, given the answers of this run so far.
class ListPolicy : public Policy {
 public:
  using Decide = std::function<Request(const PolicyContext&, const std::vector<Observation>&)>;
  explicit ListPolicy(Decide decide) : decide_(std::move(decide)) {}

  Request start(const PolicyContext& context) override {
    ++starts;
    context_ = context;
    goals.push_back(context.goal);
    answers.clear();
    return decide_(context_, answers);
  }
  Request resume(const Observation& answer) override {
    answers.push_back(answer);
    return decide_(context_, answers);
  }
  Request replace(std::string_view text, const PolicyContext& context) override {
    if (text == "broken") throw PolicyError("script.lua:1: broken");
    ++replaces;
    return start(context);
  }
  std::string_view failure() const override { return "script.lua:7: failed on purpose"; }
  std::string take_log() override { return {}; }

  int starts = 0;
  int replaces = 0;
  std::vector<Goal> goals;
  std::vector<Observation> answers;

 private:
  Decide decide_;
  PolicyContext context_;
};

inline Request request(Request::What what, const PowerMode& mode, std::int32_t batch_size = 16) {
  Request request;
  request.what = what;
  request.setting.mode = mode;
  request.setting.batch_size[index(Kind::train)] = batch_size;
  return request;
}
inline Request measure(const PowerMode& mode, std::int32_t batch_size = 16) {
  return request(Request::What::measure, mode, batch_size);
}
inline Request hold(const PowerMode& mode, std::int32_t batch_size = 16) {
  return request(Request::What::hold, mode, batch_size);
}

struct KeptNote {
  NoteType type;
  Time time;
  std::int64_t value;
  Setting setting;
  std::optional<Observation> observation;
  std::string text;
};

class KeepingRecorder : public Recorder {
 public:
  void tick(const TickInputs& inputs) override {
    times.push_back(inputs.now);
    events.insert(events.end(), inputs.events.begin(), inputs.events.end());
    readings.insert(readings.end(), inputs.readings.begin(), inputs.readings.end());
    event_counts.push_back(inputs.events.size());
    reading_counts.push_back(inputs.readings.size());
  }
  void note(const Note& note) override {
    KeptNote kept{note.type, note.time, note.value, {}, {}, std::string(note.text)};
    if (note.setting != nullptr) kept.setting = *note.setting;
    if (note.observation != nullptr) kept.observation = *note.observation;
    notes.push_back(kept);
  }
  void status(const Status& status) override { statuses.push_back(status); }

  // Room for a long run, so that keeping takes no memory in a tick.
  void reserve() {
    times.reserve(10'000);
    event_counts.reserve(10'000);
    reading_counts.reserve(10'000);
    statuses.reserve(10'000);
    events.reserve(10'000);
    readings.reserve(10'000);
  }
  std::vector<KeptNote> of(NoteType type) const {
    std::vector<KeptNote> found;
    for (const KeptNote& note : notes) {
      if (note.type == type) found.push_back(note);
    }
    return found;
  }

  std::vector<Time> times;
  std::vector<Event> events;
  std::vector<Reading> readings;
  std::vector<std::size_t> event_counts;
  std::vector<std::size_t> reading_counts;
  std::vector<KeptNote> notes;
  std::vector<Status> statuses;
};

}  // namespace gearshift::fakes

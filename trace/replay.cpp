#include "trace/replay.h"

#include <algorithm>
#include <array>
#include <utility>

#include "controller/controller.h"
#include "trace/recording_text.h"

namespace gearshift {

// The tick that is being played, and how much of it the loop has asked for.
struct Replay::State {
  explicit State(RecordingReader& from) : reader(from) {}

  const KnobSpace& knobs() const { return reader.header().knobs; }
  bool over() const { return ended || result.difference.has_value(); }
  // False after the last tick, or after a difference.
  bool advance();
  void check_nothing_is_left();
  void differ(std::string recorded, std::string replayed);
  // `next` of `list` is what was recorded for the decision `made`.
  template <typename Decision, typename Describe>
  void check(const std::vector<Decision>& list, std::size_t& next, const std::string& made,
             Describe described);
  std::optional<WithText<KnobCall>> answer(const KnobCall& call);

  RecordingReader& reader;
  RecordedTick tick;
  bool ended = false;
  bool started = false;
  Time start{};
  ReplayResult result;
  std::size_t notes = 0;
  std::size_t commands = 0;
  std::size_t knob_calls = 0;
  std::size_t scripts = 0;
  std::uint32_t calls = 0;
  std::uint32_t worlds = 0;
  std::array<std::optional<std::int64_t>, kMaxKnobs> values{};
  std::vector<Limit> limits;
};

bool Replay::State::advance() {
  if (started) check_nothing_is_left();
  if (over() || !reader.next(tick)) {
    ended = true;
    return false;
  }
  // The loop does not tell plans and failed zones: its limits are played back by what they
  // answered.
  std::erase_if(tick.notes, [](const RecordedNote& note) {
    return note.type == NoteType::plan || note.type == NoteType::temperature;
  });
  if (!started) start = tick.now;
  started = true;
  ++result.ticks;
  result.duration = tick.now - start;
  notes = commands = knob_calls = scripts = 0;
  calls = 0;
  for (const LimitAnswer& answer : tick.limits) limits[answer.source] = answer.limit;
  return true;
}

void Replay::State::check_nothing_is_left() {
  if (notes < tick.notes.size()) {
    differ(exact_text(knobs(), tick.notes[notes]), "nothing");
  } else if (commands < tick.commands.size()) {
    differ(exact_text(tick.commands[commands]), "nothing");
  } else if (knob_calls < tick.knob_calls.size()) {
    differ(exact_text(knobs(), tick.knob_calls[knob_calls].value), "nothing");
  }
}

void Replay::State::differ(std::string recorded, std::string replayed) {
  if (over()) return;
  result.difference =
      Difference{tick.number, tick.now - start, std::move(recorded), std::move(replayed)};
}

template <typename Decision, typename Describe>
void Replay::State::check(const std::vector<Decision>& list, std::size_t& next,
                          const std::string& made, Describe described) {
  if (over()) return;
  if (next == list.size()) {
    differ("nothing", made);
    return;
  }
  const std::string expected = described(list[next++]);
  ++result.decisions;
  if (expected != made) differ(expected, made);
}

// Nullopt where the recording has no answer: to a read that is usual, and the last one holds.
std::optional<WithText<KnobCall>> Replay::State::answer(const KnobCall& call) {
  const std::uint32_t at = calls++;
  const bool decides = call.action != KnobAction::read;
  if (over()) return std::nullopt;
  if (knob_calls == tick.knob_calls.size() || tick.knob_calls[knob_calls].value.call != at) {
    if (decides) differ("no call of the actuator", exact_text(knobs(), call));
    return std::nullopt;
  }
  const WithText<KnobCall>& recorded = tick.knob_calls[knob_calls++];
  if (decides) ++result.decisions;
  const std::string expected = exact_text(knobs(), recorded.value);
  const std::string made = exact_text(knobs(), call);
  if (expected != made) {
    differ(expected, made);
    return std::nullopt;
  }
  return recorded;
}

namespace {

class ReplayedWorld final : public World {
 public:
  explicit ReplayedWorld(Replay::State& state) : state_(state) {}

  Time wait_until(Time, EventBuffer& events) override {
    if (state_.advance()) {
      events.insert(events.end(), state_.tick.events.begin(), state_.tick.events.end());
    } else {
      Event& stop = events.emplace_back();
      stop.type = EventType::stop;
    }
    return state_.tick.now;
  }
  void command(WorkloadHandle workload, const WorkloadCommand& command) override {
    state_.check(state_.tick.commands, state_.commands, exact_text(SentCommand{workload, command}),
                 [](const SentCommand& sent) { return exact_text(sent); });
  }
  std::string_view script() override {
    if (state_.scripts == state_.tick.scripts.size()) return {};
    return state_.tick.scripts[state_.scripts++];
  }
  void publish(const Status&) override {}

 private:
  Replay::State& state_;
};

class ReplayedActuator final : public Actuator {
 public:
  explicit ReplayedActuator(Replay::State& state) : state_(state) {}

  const KnobSpace& knobs() const override { return state_.knobs(); }
  Progress write(std::size_t knob, std::int64_t value) override {
    KnobCall call = call_of(KnobAction::write);
    call.knob = static_cast<std::uint32_t>(knob);
    call.value = value;
    const KnobOutcome outcome = answered(call);
    return outcome == KnobOutcome::more   ? Progress::more
           : outcome == KnobOutcome::away ? Progress::away
                                          : Progress::done;
  }
  std::optional<Time> wrote() const override { return wrote_; }
  std::optional<std::int64_t> read(std::size_t knob) override {
    KnobCall call = call_of(KnobAction::read);
    call.knob = static_cast<std::uint32_t>(knob);
    if (const auto recorded = state_.answer(call)) {
      state_.values[knob].reset();
      if (recorded->value.known) state_.values[knob] = recorded->value.value;
    }
    return state_.values[knob];
  }
  void manage(std::int32_t pid, Kind kind) override {
    KnobCall call = call_of(KnobAction::manage);
    call.pid = pid;
    call.kind = kind;
    answered(call);
  }
  void restore() override { answered(call_of(KnobAction::restore)); }

 private:
  static KnobCall call_of(KnobAction action) {
    KnobCall call;
    call.action = action;
    return call;
  }
  KnobOutcome answered(const KnobCall& call) {
    const auto recorded = state_.answer(call);
    if (!recorded) return KnobOutcome::done;
    if (call.action == KnobAction::write) wrote_ = recorded->value.wrote;
    if (recorded->value.outcome == KnobOutcome::failed) throw KnobError(recorded->text);
    return recorded->value.outcome;
  }

  Replay::State& state_;
  std::optional<Time> wrote_;
};

class ReplayedSensor final : public Sensor {
 public:
  explicit ReplayedSensor(Replay::State& state) : state_(state) {}

  void read(Time, std::vector<Reading>& readings) override {
    if (state_.over()) return;
    readings.insert(readings.end(), state_.tick.readings.begin(), state_.tick.readings.end());
  }
  std::string explain(const Reading& reading) const override {
    for (const auto& [explanation, text] : state_.tick.explanations) {
      const bool same =
          explanation.quantity == reading.quantity && explanation.channel == reading.channel;
      if (same) return text;
    }
    return {};
  }

 private:
  Replay::State& state_;
};

class ReplayedLimit final : public LimitSource {
 public:
  ReplayedLimit(Replay::State& state, std::size_t source) : state_(state), source_(source) {}

  std::string_view name() const override { return state_.reader.header().limits[source_]; }
  void consume(const Event&) override {}
  Limit limit(Time) override { return state_.limits[source_]; }

 private:
  Replay::State& state_;
  std::size_t source_;
};

class ReplayedThinkTime final : public ThinkTime {
 public:
  explicit ReplayedThinkTime(Replay::State& state) : state_(state) {}

  void begin() override {}
  bool over() override {
    ++looks_;
    const std::vector<ScriptStop>& stops = state_.tick.script_stops;
    return std::any_of(stops.begin(), stops.end(),
                       [this](const ScriptStop& stop) { return stop.look == looks_; });
  }

 private:
  Replay::State& state_;
  std::int64_t looks_ = 0;
};

class CheckingRecorder final : public Recorder {
 public:
  explicit CheckingRecorder(Replay::State& state) : state_(state) {}

  void tick(const TickInputs&) override {}
  void note(const Note& note) override {
    if (note.type == NoteType::drift) ++state_.worlds;
    RecordedNote made = keep(note);
    const bool may_lack_value = note.type == NoteType::late || note.type == NoteType::setting;
    if (may_lack_value && !has_value()) made.value = 0;
    const auto described = [this](const RecordedNote& kept) {
      return std::to_string(kept.time.time_since_epoch().count()) +
             " ns: " + exact_text(state_.knobs(), kept);
    };
    state_.check(state_.tick.notes, state_.notes, described(made), described);
  }
  void status(const Status&) override {}

 private:
  // Recordings of before do not say at which rate a setting is known to be late, nor what one that
  // is set is for.
  bool has_value() const {
    return state_.notes < state_.tick.notes.size() && state_.tick.notes[state_.notes].value != 0;
  }

  Replay::State& state_;
};

}  // namespace

Replay::Replay(RecordingReader& reader)
    : state_(std::make_unique<State>(reader)),
      think_time_(std::make_unique<ReplayedThinkTime>(*state_)) {
  state_->limits.resize(reader.header().limits.size());
}

Replay::~Replay() = default;

ThinkTime& Replay::think_time() { return *think_time_; }

Duration Replay::since_start() const { return state_->result.duration; }

std::uint32_t Replay::worlds() const { return state_->worlds; }

ReplayResult Replay::run(Policy& policy) {
  const RecordingHeader& header = state_->reader.header();
  ReplayedWorld world(*state_);
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<ReplayedSensor>(*state_));
  Board board(std::make_unique<ReplayedActuator>(*state_), std::move(sensors), header.traits);
  std::vector<ReplayedLimit> sources;
  sources.reserve(header.limits.size());
  for (std::size_t i = 0; i < header.limits.size(); ++i) sources.emplace_back(*state_, i);
  std::vector<LimitSource*> limits;
  for (ReplayedLimit& source : sources) limits.push_back(&source);
  std::vector<const Profile*> priors;
  for (const Profile& prior : header.priors) priors.push_back(&prior);
  ControllerOptions options = header.options;
  options.prior = priors;
  CheckingRecorder recorder(*state_);
  Controller(world, board, policy, recorder, limits, options).run();
  // Where the loop stopped by itself nothing has asked for the tick after it yet.
  if (!state_->over() && state_->advance()) {
    state_->differ("tick " + std::to_string(state_->tick.number), "the loop had stopped before");
  }
  return state_->result;
}

}  // namespace gearshift

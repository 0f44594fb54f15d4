// What a run holds and why: which cap binds, what was tried and what each cost, and what would
// change the choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/goal.h"
#include "controller/observation.h"
#include "controller/recorder.h"
#include "controller/recording_state.h"
#include "controller/roster.h"

namespace gearshift {

enum class Holding : std::uint8_t {
  nothing,   // no setting is held yet
  choice,    // the policy's
  best,      // the best of those measured, since the search was ended
  safe,      // the safe setting
  fallback,  // what stands in for a choice and is not the safe setting
};
std::string_view holding_name(Holding holding);

// What a model says of a setting without its being measured.
struct PredictedCost {
  Duration minibatch{};  // mean, of the managed workload
  std::int64_t power_mw = 0;

  friend bool operator==(const PredictedCost&, const PredictedCost&) = default;
};
// Nullopt where nothing is predicted.
using Predict = std::function<std::optional<PredictedCost>(const Setting&)>;

// A setting that was tried: its newest observation.
struct Tried {
  Observation observation;
  std::uint32_t times = 1;  // how often it was measured
  std::optional<PredictedCost> predicted{};
};

// What another cap, or another objective, would have held, by what was measured.
struct Alternative {
  std::int64_t cap_mw = 0;  // that this begins at (looser) or ends at (tighter)
  const Observation* observation = nullptr;
  double value = 0;  // what the goal minimises
};

// Built from a run's events and notes in their order, live or from a recording. Keeps kMostTried
// settings of the workloads that are there, as far as they offer them: the newest, what is held,
// and what is best by each objective. Forgets what the run forgets.
class Rationale final : public Recorder {
 public:
  static constexpr std::size_t kMostTried = 256;

  explicit Rationale(const Goal& goal = {}) : goal_(goal) {}
  // Without it whatever is held for safety is taken for the safe setting.
  void know_safe(const PowerMode& mode) { safe_mode_ = mode; }
  // Asked for each setting that is tried or held from then on.
  void predict_with(Predict predict) { predict_ = std::move(predict); }

  // Asked when the plan is, in place of what a note told last, which may be a minute old.
  void tell_plan_with(std::function<std::string()> tell) { tell_plan_ = std::move(tell); }
  std::string plan_now() const { return tell_plan_ ? tell_plan_() : plan; }

  // Asked when an operator asks what becomes of the recording; nothing is recorded without it.
  void tell_recording_with(std::function<RecordingState()> tell) {
    tell_recording_ = std::move(tell);
  }
  RecordingState recording_now() const {
    return tell_recording_ ? tell_recording_() : RecordingState();
  }

  // The workloads that come and go.
  void consume(const Event& event);
  void tick(const TickInputs& inputs) override {
    for (const Event& event : inputs.events) consume(event);
  }
  void note(const Note& note) override;
  void status(const Status& status) override {
    goal_ = status.goal;
    battery = status.battery;
  }
  void set_goal(const Goal& goal) { goal_ = goal; }
  // As another process told them, in their order.
  void add(const Tried& tried) { tried_.push_back(tried); }

  // What is held, since when and why; fields for a program that was told them.
  struct Held {
    Holding holding = Holding::nothing;
    Setting setting;
    Time since{};
    std::string why;
    std::optional<PredictedCost> predicted{};
  };
  struct Cap {
    std::int64_t power_mw = 0;  // 0: none
    std::string source;         // the limit source that binds
    Time since{};
  };
  Held held;
  Cap cap;
  std::string plan;  // of the battery, as noted last, for people; empty where nothing is planned
  std::string heat;  // which zones cannot be read and why, for people; empty where all can
  Battery battery;   // as it was read at last

  const Goal& goal() const { return goal_; }
  const std::vector<Tried>& tried() const { return tried_; }
  // The cost of what is held; null where it was not measured.
  const Observation* held_cost() const;

  // What the measurements say would be best now; of equals what is held. Null observation: nothing
  // keeps the goal. It is what is held, unless the policy knows better or was not asked yet.
  Alternative best() const;
  // The least cap above the one that binds at which something measured is better than what is held.
  Alternative looser() const;
  // Below this cap what is held is over it, and this is what would be held instead.
  Alternative tighter() const;
  // What is best within the cap for another objective.
  Alternative for_objective(Objective objective) const;

 private:
  Alternative best_for(const Goal& goal) const;
  void take(const Observation& observation);
  void drop_one();
  void forget();
  void hold(Holding holding, const Note& note, std::string why);
  void stand_in(const Note& note, std::string why);
  void begin_step(const Note& note, std::string why);
  void begin(const Note& note);
  bool seems_to_stand_in(const Setting& setting, bool steps) const;
  void wait(const Note& note);
  void mark_late(const Note& note);
  bool is_safe(const Setting& setting) const;
  bool known_to_fit(const Setting& setting) const;

  Goal goal_;
  std::vector<Tried> tried_;  // oldest first; what came back from aside_ before the others
  std::vector<Tried> aside_;  // whose batch sizes the workloads do not offer now
  Roster roster_;
  std::string key_;         // of the workloads that were tried
  bool one_left_ = false;   // of two, since
  std::string search_end_;  // why the search was ended, until the hold that follows
  Predict predict_;
  std::function<std::string()> tell_plan_;
  std::function<RecordingState()> tell_recording_;
  std::optional<PowerMode> safe_mode_;
  // Of the newest step down. What is in force since stands in for a choice, until the search goes
  // on.
  Time stepped_at_{};
  std::string step_why_;
  bool step_is_sure_ = false;
  bool stands_in_ = false;
};

// The least cap that an observation is within, in mW.
std::int64_t needed_power_mw(const Observation& observation);

}  // namespace gearshift

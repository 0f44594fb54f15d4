// What `gearshift explain` asks for, kept beside telling the operator: the run's reasons, what the
// board's model predicts of each setting, and the plan of a battery.
#pragma once

#include <optional>
#include <string>

#include "cli/setting_prediction.h"
#include "controller/rationale.h"
#include "controller/recorder.h"
#include "limits/battery_limit.h"

namespace gearshift {

class ExplainingRecorder : public Recorder {
 public:
  // All borrowed.
  ExplainingRecorder(Rationale& rationale, SettingPrediction& prediction, Recorder& front)
      : rationale_(rationale), prediction_(prediction), front_(front) {}

  void tick(const TickInputs& inputs) override;
  void note(const Note& note) override;
  void status(const Status& status) override;

 private:
  Rationale& rationale_;
  SettingPrediction& prediction_;
  Recorder& front_;
};

// Adds a note of what a battery's limit plans to those of the loop: at once where its state
// changes or there is a plan at last, and once a minute where the plan changes.
class PlanNotes : public Recorder {
 public:
  // Borrowed; a null limit plans nothing.
  PlanNotes(Recorder& next, const BatteryLimit* limit) : next_(next), limit_(limit) {}

  void tick(const TickInputs& inputs) override { next_.tick(inputs); }
  void note(const Note& note) override { next_.note(note); }
  void status(const Status& status) override;

 private:
  Recorder& next_;
  const BatteryLimit* limit_;
  std::optional<BatteryState> state_;
  bool planned_ = false;
  Time told_{};
  std::string text_;
};

}  // namespace gearshift

// What `gearshift explain` asks for, kept beside telling the operator: the run's reasons, what the
// board's model predicts of each setting, and the plan of a battery.
#pragma once

#include <optional>
#include <string>

#include "cli/setting_prediction.h"
#include "controller/rationale.h"
#include "controller/recorder.h"
#include "controller/sensor.h"
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

// Adds a note of what a battery's limit plans to those of the loop: at once where its state or aim
// changes, there is a plan at last, it falls short, alone or within others' caps, or the gauge is
// late, and once a minute where the plan changes.
class PlanNotes : public Recorder {
 public:
  // Borrowed; a null limit plans nothing, a null sensor of the battery gives no causes.
  PlanNotes(Recorder& next, const BatteryLimit* limit, const Sensor* battery = nullptr)
      : next_(next), limit_(limit), battery_(battery) {}

  void tick(const TickInputs& inputs) override;
  void note(const Note& note) override { next_.note(note); }
  void status(const Status& status) override;

  // What is planned now, and why what should be read of the battery is not; empty without a limit.
  std::string text() const;

 private:
  std::string cause() const;
  bool told_enough() const;

  Recorder& next_;
  const BatteryLimit* limit_;
  const Sensor* battery_;
  Reading energy_{.quantity = Quantity::battery_energy, .state = ReadingState::missing};
  Reading voltage_{.quantity = Quantity::battery_voltage, .state = ReadingState::missing};
  // As told last.
  std::optional<BatteryState> state_;
  BatteryAim aim_{};
  Shortfall shortfall_ = Shortfall::unknown;
  Shortfall within_others_ = Shortfall::none;  // of the plan within others' caps
  bool late_ = false;
  Time told_{};
  std::string text_;
};

}  // namespace gearshift

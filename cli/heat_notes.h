// Adds notes of thermal zones that cannot be read to those of the loop: nothing else says why the
// lowest mode is held.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/recorder.h"
#include "controller/sensor.h"
#include "limits/thermal_limit.h"

namespace gearshift {

// One note when a zone's sensor fails, with the cause, and one when it is back.
class HeatNotes : public Recorder {
 public:
  // Borrowed. A null limit guards no zone; a null sensor gives no causes.
  HeatNotes(Recorder& next, const ThermalLimit* limit, const Sensor* sensor);

  void tick(const TickInputs& inputs) override;
  void note(const Note& note) override { next_.note(note); }
  void status(const Status& status) override;

 private:
  struct Zone {
    ThermalZoneLimit limit;
    Reading newest{.quantity = Quantity::temperature, .state = ReadingState::missing};
    bool lost = false;
  };

  std::string cause(const Zone& zone) const;
  void tell(const std::string& back, Time now);

  Recorder& next_;
  const ThermalLimit* limit_;
  const Sensor* sensor_;
  std::vector<Zone> zones_;
};

}  // namespace gearshift

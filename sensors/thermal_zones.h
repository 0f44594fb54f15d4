// Reads the temperatures of a board's thermal zones, found by type because their numbers change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/sysroot.h"
#include "controller/sensor.h"

namespace gearshift {

struct ThermalZone {
  std::uint8_t channel = 0;  // of its readings
  std::string type;
  // From which on the board is slowed down or stopped; nullopt where its files do not tell.
  std::optional<std::int64_t> throttled_mc;
  // What it showed when it was opened.
  Reading at_open{.quantity = Quantity::temperature, .state = ReadingState::missing};
};

// Emits temperature in milli-degrees Celsius; channel: the zone's place in the order of the board
// file's prefixes, then of zone numbers. A zone whose block is powered down answers EAGAIN, which
// is tried again twice at once and then off; -256000 means the same on JetPack 5. Anything else
// outside -50 to 150 degrees is absurd, and so is 1 to 150: such a zone counts whole degrees, and
// would never be hot. So may one that counts tenths: 151 to 1500 is absurd until the zone has shown
// more, or below -500, which no tenths are. A text that is not one whole number ("45.5") cannot be
// read. A zone that cannot be read is looked for again once a second, by its type: its driver may
// have been bound anew, and its number be another one.
class ThermalZones : public Sensor {
 public:
  // Null where no zone's type begins with one of `prefixes` (letter case is ignored: JetPack 5 and
  // 6 differ in it).
  static std::unique_ptr<ThermalZones> open(const std::vector<std::string>& prefixes, Sysroot& root,
                                            std::vector<std::string>& findings);

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;
  // Reads all, and tells of them in the order of their channels.
  std::vector<ThermalZone> look();

 private:
  struct Zone {
    std::string folder;
    std::string type;
    DeviceFile temperature;
    std::optional<std::int64_t> throttled_mc;
    int error = 0;
    bool shows_milli = false;  // it showed what no zone that counts tenths of a degree does
  };

  ThermalZones(std::vector<Zone> zones, Sysroot& root) : zones_(std::move(zones)), root_(root) {}
  void look_again(Time now);
  // Whether the zone can be read from there.
  bool open_in(Zone& zone, const std::string& folder);

  std::vector<Zone> zones_;
  Sysroot& root_;
  std::optional<Time> looked_;
};

}  // namespace gearshift

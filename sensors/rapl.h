// Reads the power of a machine's CPU packages from the RAPL energy counters of powercap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/sensor.h"

namespace gearshift {

// Emits the sum of the packages as power (channel 0) and each package as rail_power. A power is the
// energy used since the reading before it, divided by the time in between, which is at least the
// board's period and 20 ms; between two periods the reading before is repeated with its time.
// Missing: the first reading, a counter that cannot be read, and a gap in which a counter may have
// wrapped more than once. While a counter cannot be read the packages are opened anew once a
// second, by name: files that were open stay dead when the driver is loaded anew. Power above
// plausible_max_mw is absurd, as after a suspend that resets the counters; so is none at all, of a
// counter that stands still.
class Rapl : public Sensor {
 public:
  // Takes top-level intel-rapl packages only: the zones inside them are part of them, and
  // intel-rapl-mmio shows the same ones again. Probed by reading energy_uj, which is closed to all
  // but root since Linux 5.10. Null where a package cannot be read, because a sum without it would
  // be too low.
  static std::unique_ptr<Rapl> open(const PowerDescription& power, Sysroot& root,
                                    std::vector<std::string>& findings);

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;
  std::size_t packages() const { return packages_.size(); }

 private:
  struct Package {
    std::string name;
    DeviceFile energy_uj;
    std::int64_t range_uj;  // the counter returns to 0 here
    std::optional<std::int64_t> last_uj;
    std::int64_t power_mw = 0;
    int error = 0;
  };

  // Empty where one of them cannot be read.
  static std::vector<Package> find_packages(Sysroot& root, std::vector<std::string>& findings);
  Rapl(std::vector<Package> packages, const PowerDescription& power, Sysroot& root);
  void look_again(Time now);
  void sample(Time now);
  // The longest gap in which no counter can wrap twice, at the highest plausible power.
  Duration longest_gap() const;

  std::vector<Package> packages_;
  Sysroot& root_;
  std::optional<Time> looked_;
  const Duration period_;
  const std::int64_t plausible_max_mw_;
  std::optional<Time> sampled_;
  ReadingState state_ = ReadingState::missing;
  std::string_view reason_;  // why state_ is missing, where no package has an error
};

}  // namespace gearshift

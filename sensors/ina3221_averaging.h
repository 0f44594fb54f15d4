// How long the readings of a board's INA3221 monitors are means over, as their driver tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/clock.h"

namespace gearshift {

// What readings of power are, and what they are judged by.
struct PowerAveraging {
  Duration averaging{};  // a reading is a mean over this; zero: it is the newest value
  Duration window{};     // over the cap means that the mean of this is
};

// By `samples` and `update_interval` of the monitors that read the board's total: a reading is the
// mean of that many rounds over the channels that are on, each with a conversion of the bus voltage
// and one of the shunt's. Nullopt where that is about the board file's window, or no monitor tells;
// else a sentence a monitor goes to `findings`. A mean that is shorter than the sampling period is
// as good as the newest value; where monitors differ the total is no one mean, and is taken for
// that too. The window is the board file's, or the mean where that is longer.
std::optional<PowerAveraging> told_averaging(const PowerDescription& power, Sysroot& root,
                                             std::vector<std::string>& findings);

}  // namespace gearshift

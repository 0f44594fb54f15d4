// Sets one knob of a board by its name, as the controller does it: writes until it is done.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "controller/actuator.h"

namespace gearshift::fakes {

// Gives up after `most` writes. Returns how many it took.
inline int apply_knob(Actuator& actuator, std::string_view name, std::int64_t value,
                      int most = 20) {
  const auto knob = actuator.knobs().find(name);
  if (!knob) {
    ADD_FAILURE() << "no knob " << name;
    return 0;
  }
  int writes = 1;
  while (writes <= most && actuator.write(*knob, value) == Progress::more) ++writes;
  return writes;
}

// What a write that is refused says.
inline std::string knob_failure(Actuator& actuator, std::string_view name, std::int64_t value) {
  try {
    apply_knob(actuator, name, value);
  } catch (const KnobError& error) {
    return error.what();
  }
  return "no KnobError";
}

}  // namespace gearshift::fakes

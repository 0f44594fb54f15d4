// Values of a knob as people type them: KNOB=VALUE,VALUE in the units they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "controller/knob.h"

namespace gearshift {

struct KnobValues {
  std::size_t knob = 0;
  std::vector<std::int64_t> values;  // of the knob; lowest first, each once
};

// Throws std::invalid_argument that names the option, the knob or value there is not, and those
// there are.
KnobValues parse_knob_values(const KnobSpace& knobs, const std::string& option,
                             const std::string& text);
std::size_t parse_knob(const KnobSpace& knobs, const std::string& option, const std::string& name);

}  // namespace gearshift

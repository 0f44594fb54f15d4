// The value of a flag, read from what was typed; errors name the flag.
#pragma once

#include <stdexcept>
#include <string>

namespace gearshift {

// What `parse` makes of `text`. Throws std::invalid_argument, with the flag before what `parse`
// says.
template <typename Parse>
auto flag_value(const std::string& flag, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(flag + ": " + error.what());
  }
}

}  // namespace gearshift

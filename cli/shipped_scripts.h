// The text of every scripts/*.lua, compiled in by cli/CMakeLists.txt.
#pragma once

#include <span>
#include <string_view>

namespace gearshift {

struct ShippedScript {
  std::string_view name;  // "bayes"
  std::string_view text;
};

// In the order of the names.
std::span<const ShippedScript> shipped_scripts();

}  // namespace gearshift

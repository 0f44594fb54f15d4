// What a daemon of Network UPS Tools may say, line by line, and an address of one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "sensors/nut_battery.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearshift;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const NutAddress address = parse_nut_address(text);
    if (address.host.empty() || address.port.empty()) std::abort();
  } catch (const std::invalid_argument&) {
  }
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const auto variable = parse_nut_variable(line);
    if (variable && (variable->name.empty() || variable->value.size() > line.size())) std::abort();
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return 0;
}

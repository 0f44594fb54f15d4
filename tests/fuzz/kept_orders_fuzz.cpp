// What a run that was killed has left of its operator's orders.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/kept_orders.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearshift;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto left = parse_orders(text);
  if (left && orders_text(*left) != text) std::abort();
  return 0;
}

// Feeds parse_toml with any bytes: a table or a TomlError, and no undefined behaviour on the way.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "boards/toml_parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    gearshift::parse_toml({reinterpret_cast<const char*>(data), size}, "fuzz.toml");
  } catch (const gearshift::TomlError&) {
    return 0;
  }
  return 0;
}

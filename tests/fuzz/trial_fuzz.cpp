// Feeds arbitrary bytes to the reader of an evaluation's trials: a line is left out, or it is
// written back as one that reads the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "evaluation/trial_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = gearshift::parse_trial({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  const std::string line = gearshift::format_trial(read->first, read->second);
  const auto again = gearshift::parse_trial(line);
  if (!again || gearshift::format_trial(again->first, again->second) != line) std::abort();
  return 0;
}

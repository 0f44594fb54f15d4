// Feeds parse_targets with any bytes: nothing but a CsvError of printable text may come out, and
// what is accepted gets a judgement that is a number or a reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/model_targets.h"
#include "trace/csv_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    for (const gearshift::ModelTarget& target : gearshift::parse_targets(bytes, "fuzz.csv")) {
      const auto judgement = gearshift::judge(target, gearshift::built_in_boards(), {});
      if (judgement.predicted.has_value() == !judgement.reason.empty()) std::abort();
      if (judgement.predicted && std::isnan(*judgement.predicted)) std::abort();
    }
  } catch (const gearshift::CsvError& error) {
    for (const char c : std::string_view(error.what())) {
      if (c < ' ' || c > '~') std::abort();
    }
  }
  return 0;
}

// Feeds parse_suspect_cells with any bytes: nothing but a CsvError of printable text may come out,
// and what is accepted must name a setting.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trace/suspect_cells.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const gearshift::SuspectCell& cell :
         gearshift::parse_suspect_cells({reinterpret_cast<const char*>(data), size}, "fuzz.csv")) {
      if (cell.batch_size < 1 || cell.knobs.empty() || cell.workload.empty()) std::abort();
      for (const auto& [name, value] : cell.knobs) {
        if (!std::isfinite(value) || value <= 0) std::abort();
      }
    }
  } catch (const gearshift::CsvError& error) {
    for (const char c : std::string_view(error.what())) {
      if (c < ' ' || c > '~') std::abort();
    }
  }
  return 0;
}

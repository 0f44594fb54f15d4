// Feeds parse_epochs with any bytes: nothing but a CsvError of printable text may come out, and
// what is accepted must be fit for use.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trace/epochs_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const gearshift::EpochsToTarget& row :
         gearshift::parse_epochs({reinterpret_cast<const char*>(data), size}, "fuzz.csv")) {
      if (row.batch_size < 1 || !std::isfinite(row.target_metric) || row.epochs.empty()) {
        std::abort();
      }
      for (const auto& epochs : row.epochs) {
        if (epochs && *epochs < 1) std::abort();
      }
    }
  } catch (const gearshift::CsvError& error) {
    for (const char c : std::string_view(error.what())) {
      if (c < ' ' || c > '~') std::abort();
    }
  }
  return 0;
}

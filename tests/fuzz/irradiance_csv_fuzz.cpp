// Feeds parse_irradiance with any bytes: nothing but a CsvError of printable text may come out, and
// what is accepted must be a day's course.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/irradiance_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearshift;
  try {
    const std::vector<Irradiance> day =
        parse_irradiance({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
    if (day.empty() || day.size() > kMostIrradianceRows) std::abort();
    std::optional<Duration> before;
    for (const Irradiance& row : day) {
      if (row.after < Duration::zero() || (before && row.after <= *before)) std::abort();
      if (!(row.w_m2 >= 0 && row.w_m2 <= 2000)) std::abort();
      before = row.after;
    }
  } catch (const CsvError& error) {
    for (const char c : std::string_view(error.what())) {
      if (c < ' ' || c > '~') std::abort();
    }
  }
  return 0;
}

// Feeds parse_arrival_times with any bytes: nothing but a CsvError of printable text may come out,
// and what is accepted must be times that do not go back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "trace/arrival_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::vector<gearshift::Duration> times =
        gearshift::parse_arrival_times({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
    if (times.size() < 2 || times.front() < gearshift::Duration::zero() ||
        times.front() == times.back() || !std::is_sorted(times.begin(), times.end())) {
      std::abort();
    }
  } catch (const gearshift::CsvError& error) {
    for (const char c : std::string_view(error.what())) {
      if (c < ' ' || c > '~') std::abort();
    }
  }
  return 0;
}

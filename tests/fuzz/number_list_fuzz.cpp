// Feeds the lists of numbers that a board's files hold any bytes: what is read must be in order and
// within its bounds, and a set of CPUs reads back as it was.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "actuators/number_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearshift;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ascends = [](const std::vector<std::int64_t>& numbers) {
    return std::is_sorted(numbers.begin(), numbers.end(), std::less_equal<>());
  };
  if (!ascends(parse_numbers(text))) std::abort();
  for (const std::int64_t units_in_khz : {1, 1000}) {
    const ClockTable table = parse_clock_table(text, units_in_khz);
    if (!ascends(table.khz) || (!table.khz.empty() && table.khz.front() <= 0)) std::abort();
  }
  const auto cpus = parse_cpu_set(text);
  if (cpus && parse_cpu_set(format_cpu_set(*cpus)) != cpus) std::abort();
  return 0;
}

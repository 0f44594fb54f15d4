#include "actuators/number_list.h"

#include <algorithm>
#include <charconv>

#include "boards/board_description.h"

namespace gearshift {
namespace {

// Takes a number off the front of the text.
template <typename Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::vector<std::int64_t> parse_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
    const auto number = take_number<std::int64_t>(text);
    if (!number) break;
    numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

ClockTable parse_clock_table(std::string_view text, std::int64_t units_in_khz) {
  ClockTable table;
  for (const std::int64_t number : parse_numbers(text)) {
    const std::int64_t khz = number / units_in_khz;
    if (khz <= 0 || khz > kMostClockKhz) {
      ++table.refused;
    } else if (table.khz.empty() || khz > table.khz.back()) {
      table.khz.push_back(khz);
    }
  }
  return table;
}

std::string ClockTable::origin() const {
  std::string text = khz.empty() ? "of the board file" : "of the kernel";
  if (refused == 0) return text;
  return text + " (left out: " + std::to_string(refused) +
         " of the kernel's that can be no clock, as 0 is)";
}

std::optional<CpuSet> parse_cpu_set(std::string_view text) {
  CpuSet cpus;
  while (!text.empty()) {
    const auto first = take_number<std::size_t>(text);
    auto last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = take_number<std::size_t>(text);
    }
    if (!first || !last || *last < *first || *last >= kMaxCpus) return std::nullopt;
    for (std::size_t cpu = *first; cpu <= *last; ++cpu) cpus.set(cpu);
    if (text.empty()) break;
    if (!text.starts_with(',') || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
  }
  return cpus;
}

std::string format_cpu_set(const CpuSet& cpus) {
  std::string text;
  for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (!cpus[cpu]) continue;
    std::size_t last = cpu;
    while (last + 1 < kMaxCpus && cpus[last + 1]) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpu);
    if (last > cpu) text += '-' + std::to_string(last);
    cpu = last;
  }
  return text;
}

}  // namespace gearshift

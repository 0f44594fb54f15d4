// Parses the lists of numbers that kernel files hold: frequency tables and sets of CPUs.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gearshift {

// The integers at the start of the text, sorted, each once: "204000 665600 2133000 (kHz)" is three.
std::vector<std::int64_t> parse_numbers(std::string_view text);

// The clocks of a kernel's table.
struct ClockTable {
  std::vector<std::int64_t> khz;  // lowest first, each once
  std::size_t refused = 0;        // numbers that are no clock: 0, below it, above kMostClockKhz

  // "of the kernel", and what was refused; "of the board file" where no clock is left.
  std::string origin() const;
};
// The numbers at the start of the text, of which `units_in_khz` make 1 kHz; a part of one is cut.
ClockTable parse_clock_table(std::string_view text, std::int64_t units_in_khz = 1);

inline constexpr std::size_t kMaxCpus = 1024;
using CpuSet = std::bitset<kMaxCpus>;

// "0-3,8" as the kernel writes it; the empty text is the empty set. nullopt for anything else, and
// for a CPU beyond kMaxCpus. Does not allocate.
std::optional<CpuSet> parse_cpu_set(std::string_view text);
// The same text again.
std::string format_cpu_set(const CpuSet& cpus);

}  // namespace gearshift

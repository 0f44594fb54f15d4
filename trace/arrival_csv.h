// When the requests of a recorded service came: a CSV file, one line a request.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "controller/clock.h"
#include "trace/csv_lines.h"

namespace gearshift {

// A file of more bytes or rows is refused.
inline constexpr std::size_t kMostArrivalBytes = std::size_t{128} << 20;
inline constexpr std::size_t kMostArrivals = std::size_t{1} << 22;

// The times of the column t_s, seconds from any beginning, 1970 too: 0 to 4 * 10^9, none before the
// one above it, at least two, and not all equal. Other columns are passed over. `source` names the
// text in errors. Throws CsvError with file, line, column and value.
std::vector<Duration> parse_arrival_times(std::string_view text, std::string_view source);
// Throws CsvError too where the file cannot be read.
std::vector<Duration> read_arrival_times(const std::filesystem::path& path);

}  // namespace gearshift

// How the sun shone on a recorded day: a CSV file, one line a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "controller/clock.h"
#include "trace/csv_lines.h"

namespace gearshift {

inline constexpr std::size_t kMostIrradianceBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMostIrradianceRows = std::size_t{1} << 19;

// From `after` the day's beginning until the next.
struct Irradiance {
  Duration after{};
  double w_m2 = 0;  // global horizontal
};

// The columns t_s, seconds from 0 to 366 days that rise from line to line, and ghi_w_m2, 0 to 2000.
// Other columns are passed over. `source` names the text in errors. Throws CsvError with file,
// line, column and value.
std::vector<Irradiance> parse_irradiance(std::string_view text, std::string_view source);
// Throws CsvError too where the file cannot be read.
std::vector<Irradiance> read_irradiance(const std::filesystem::path& path);

}  // namespace gearshift

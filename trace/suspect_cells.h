// Cells of measured tables that do not fit their neighbours, as someone has listed them: a CSV
// file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/profile.h"
#include "trace/csv_lines.h"

namespace gearshift {

// A file of more bytes or rows is refused.
inline constexpr std::size_t kMostSuspectBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMostSuspects = std::size_t{1} << 17;

// One line. What is absent narrows nothing.
struct SuspectCell {
  std::optional<std::string> device;
  std::string workload;
  std::optional<Kind> kind;
  std::int32_t batch_size = 0;                        // samples
  std::vector<std::pair<std::string, double>> knobs;  // in the units people read; at least one
  std::optional<double> minibatch_ms;
  std::optional<double> power_w;

  friend bool operator==(const SuspectCell&, const SuspectCell&) = default;
};

// The lines in the order of the file. Columns, in any order: workload, batch_size and knobs as
// profiles name them, one of them at least in every line; device, kind, minibatch_ms and power_w
// may be there; all others are somebody's evidence, and are not read. `source` names the text in
// errors. Throws CsvError with file, line, column and value.
std::vector<SuspectCell> parse_suspect_cells(std::string_view text, std::string_view source);
// Throws CsvError too where the file cannot be read.
std::vector<SuspectCell> read_suspect_cells(const std::filesystem::path& path);

// Whether the line means this cell: all that it names is the cell's, time and power as far as two
// decimals tell (it tells training from inference where there is no kind).
bool means(const SuspectCell& suspect, const Profile& profile, const ProfileCell& cell);
// One entry a cell of the profile: whether some line means it.
std::vector<bool> suspects_in(const Profile& profile, std::span<const SuspectCell> suspects);

}  // namespace gearshift

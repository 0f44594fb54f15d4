// Profiles as CSV files: one line a measured setting, in the columns that docs/profiles.md lists.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/profile.h"
#include "trace/csv_lines.h"

namespace gearshift {

// A file of more bytes or rows is refused.
inline constexpr std::size_t kMostProfileBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMostProfileRows = std::size_t{1} << 20;

// One profile for each (device, workload, kind), in the order in which they first appear; cells in
// the order of the file. `source` names the text in errors. Throws CsvError.
//
// The knobs of a profile are those of the columns cpu_cores, cpu_mhz, gpu_mhz, mem_mhz,
// power_limit_w and cpu_quota_percent that are filled in, in this order whatever the file's.
std::vector<Profile> parse_profiles(std::string_view text, std::string_view source);
// Throws CsvError too where the file cannot be read.
std::vector<Profile> read_profiles(const std::filesystem::path& path);

// Why no file can hold a profile of this name and these knobs; nullopt where one can.
std::optional<std::string> unwritable(const Profile& profile);
// The text that parse_profiles reads back to equal profiles. Throws CsvError where one is
// unwritable, or a cell has what is refused when it is read.
std::string format_profiles(std::span<const Profile> profiles);
// Replaces the file as a whole, on disk when it returns (see trace/replace_file.h). Throws
// std::runtime_error where it cannot be written, and what format_profiles throws.
void write_profiles(const std::filesystem::path& path, std::span<const Profile> profiles);

}  // namespace gearshift

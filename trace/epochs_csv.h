// How many epochs training took to reach a metric, as recorded: a CSV file, one line a batch size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/csv_lines.h"

namespace gearshift {

// A file of more bytes or rows, or a row of more runs, is refused.
inline constexpr std::size_t kMostEpochsBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMostEpochsRows = std::size_t{1} << 17;
inline constexpr std::size_t kMostRecordedRuns = 1024;

// One line: the recorded runs of a network with one batch size, up to one metric.
struct EpochsToTarget {
  std::string dataset;
  std::string network;
  std::string optimizer;
  std::int32_t batch_size = 0;  // samples
  double target_metric = 0;
  std::vector<std::optional<std::uint32_t>> epochs;  // one a run; nullopt: the metric was missed

  // As profiles name it: dataset-network-optimizer.
  std::string workload() const { return dataset + '-' + network + '-' + optimizer; }
  friend bool operator==(const EpochsToTarget&, const EpochsToTarget&) = default;
};

// The lines in the order of the file. Columns, in any order: dataset, network, optimizer,
// batch_size, target_metric, epochs (a list with blanks between, `nan` for a run that missed the
// metric); learning_rate and runs may be there, and the latter must be the length of the list.
// `source` names the text in errors. Throws CsvError with file, line, column and value.
std::vector<EpochsToTarget> parse_epochs(std::string_view text, std::string_view source);
// Throws CsvError too where the file cannot be read.
std::vector<EpochsToTarget> read_epochs(const std::filesystem::path& path);

}  // namespace gearshift

#include "trace/epochs_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <set>
#include <system_error>
#include <tuple>

#include "controller/profile_name.h"

namespace gearshift {
namespace {

enum Column : std::size_t { dataset, network, optimizer, batch, rate, target, run_count, epochs };
constexpr std::array<std::string_view, 8> kColumns = {
    "dataset",       "network",       "optimizer", "batch_size",
    "learning_rate", "target_metric", "runs",      "epochs"};
constexpr bool is_optional(std::size_t column) { return column == rate || column == run_count; }
constexpr std::uint32_t kMostEpochs = 1'000'000;

class EpochsParser {
 public:
  EpochsParser(std::string_view text, std::string_view source) : lines_(text, source) {}

  std::vector<EpochsToTarget> parse() {
    read_header();
    while (lines_.next()) {
      if (rows_.size() == kMostEpochsRows) {
        lines_.fail("more than " + std::to_string(kMostEpochsRows) + " rows; split the file");
      }
      read_row();
    }
    return std::move(rows_);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::int32_t, double>;

  [[noreturn]] void fail(Column column, std::string_view value, const std::string& expected) const {
    lines_.fail(std::string(kColumns[column]) + " = '" + printable(value) + "': " + expected);
  }

  void read_header();
  void read_row();
  const std::string& field(Column column) const {
    static const std::string kEmpty;
    return places_[column] ? lines_.fields()[*places_[column]] : kEmpty;
  }
  std::string name(Column column) const;
  std::vector<std::optional<std::uint32_t>> recorded_runs() const;
  template <typename Number>
  std::optional<Number> number(std::string_view text) const {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  CsvLines lines_;
  std::array<std::optional<std::size_t>, kColumns.size()> places_{};
  std::size_t columns_ = 0;
  std::vector<EpochsToTarget> rows_;
  std::set<Key> known_;
};

void EpochsParser::read_header() {
  if (!lines_.next()) lines_.fail_at(1, "a first line that names the columns is missing");
  std::string known;
  for (const std::string_view name : kColumns) known.append(" ").append(name);
  columns_ = lines_.fields().size();
  for (std::size_t i = 0; i < columns_; ++i) {
    const std::string& text = lines_.fields()[i];
    const auto found = std::find(kColumns.begin(), kColumns.end(), text);
    if (found == kColumns.end()) {
      lines_.fail("column '" + printable(text) + "': no such column; there are" + known);
    }
    auto& place = places_[static_cast<std::size_t>(found - kColumns.begin())];
    if (place) lines_.fail("column " + text + " is there already; name each column once");
    place = i;
  }
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    if (!places_[i] && !is_optional(i)) {
      lines_.fail("column " + std::string(kColumns[i]) + " is missing; there are" + known);
    }
  }
}

std::string EpochsParser::name(Column column) const {
  const std::string& value = field(column);
  if (const auto objection = name_objection(value)) fail(column, value, *objection);
  return value;
}

std::vector<std::optional<std::uint32_t>> EpochsParser::recorded_runs() const {
  std::vector<std::optional<std::uint32_t>> list;
  std::string_view rest = field(epochs);
  while (!rest.empty()) {
    const std::string_view text = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    if (text == "nan") {
      list.emplace_back();
      continue;
    }
    // Some programs write whole numbers as 12.0.
    const std::optional<double> value = number<double>(text);
    if (!value || !(*value >= 1 && *value <= kMostEpochs) || *value != std::floor(*value)) {
      fail(epochs, text, "each must be a whole number from 1 to 1000000, or nan");
    }
    list.emplace_back(static_cast<std::uint32_t>(*value));
  }
  if (list.empty() || list.size() > kMostRecordedRuns) {
    fail(epochs, field(epochs), "must list 1 to 1024 runs, with one blank between two");
  }
  return list;
}

void EpochsParser::read_row() {
  if (lines_.fields().size() != columns_) {
    lines_.fail("the line has " + std::to_string(lines_.fields().size()) + " fields; the first " +
                "line names " + std::to_string(columns_));
  }
  EpochsToTarget row;
  row.dataset = name(dataset);
  row.network = name(network);
  row.optimizer = name(optimizer);
  const auto batch_size = number<std::int32_t>(field(batch));
  if (!batch_size || *batch_size < 1 || *batch_size > kMostBatchSize) {
    fail(batch, field(batch), "must be a whole number from 1 to 1000000");
  }
  row.batch_size = *batch_size;
  const auto metric = number<double>(field(target));
  if (!metric || !std::isfinite(*metric)) fail(target, field(target), "must be a number");
  row.target_metric = *metric;
  row.epochs = recorded_runs();
  const auto count = number<std::size_t>(field(run_count));
  if (places_[run_count] && (!count || *count != row.epochs.size())) {
    fail(run_count, field(run_count),
         "must be the length of epochs, " + std::to_string(row.epochs.size()));
  }
  if (!known_.insert({row.dataset, row.network, row.optimizer, row.batch_size, row.target_metric})
           .second) {
    lines_.fail(
        "the batch size and target metric of this workload are there already; join the "
        "runs in one line");
  }
  rows_.push_back(std::move(row));
}

}  // namespace

std::vector<EpochsToTarget> parse_epochs(std::string_view text, std::string_view source) {
  return EpochsParser(text, source).parse();
}

std::vector<EpochsToTarget> read_epochs(const std::filesystem::path& path) {
  return parse_epochs(read_csv_text(path, kMostEpochsBytes), path.string());
}

}  // namespace gearshift

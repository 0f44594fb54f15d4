#include "cli/model_targets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "trace/csv_lines.h"

namespace gearshift {
namespace {

constexpr std::array<std::string_view, 16> kColumns = {
    "id",          "device",    "workload", "kind",    "batch_size",
    "num_workers", "cpu_cores", "cpu_mhz",  "gpu_mhz", "mem_mhz",
    "mode_label",  "metric",    "value",    "unit",    "tolerance_suggested",
    "source"};
constexpr std::size_t kMostTargets = 100'000;

class TargetParser {
 public:
  TargetParser(std::string_view text, std::string_view source) : lines_(text, source) {}

  std::vector<ModelTarget> parse() {
    read_header();
    std::vector<ModelTarget> targets;
    while (lines_.next()) {
      if (targets.size() == kMostTargets) {
        lines_.fail("more than " + std::to_string(kMostTargets) + " targets; split the file");
      }
      targets.push_back(read_target());
    }
    return targets;
  }

 private:
  [[noreturn]] void fail(std::string_view column, const std::string& expected) const {
    lines_.fail(std::string(column) + " = '" + printable(field(column)) + "': " + expected);
  }

  void read_header() {
    if (!lines_.next()) lines_.fail_at(1, "a targets file needs a first line of column names");
    columns_ = lines_.fields();
    for (const std::string_view needed : kColumns) {
      const auto count = std::count(columns_.begin(), columns_.end(), needed);
      if (count != 1) {
        lines_.fail("column " + std::string(needed) +
                    (count == 0 ? " is missing" : " is twice there"));
      }
    }
    for (const std::string& column : columns_) {
      if (std::find(kColumns.begin(), kColumns.end(), column) == kColumns.end()) {
        lines_.fail("no such column: '" + printable(column) + "'; docs/board-model.md lists them");
      }
    }
  }

  const std::string& field(std::string_view column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return lines_.fields()[static_cast<std::size_t>(found - columns_.begin())];
  }

  std::optional<double> number(std::string_view column, double least) const {
    const std::string& text = field(column);
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (!is_number || !(value >= least && std::fabs(value) < 1e12)) {
      fail(column, least > 0 ? "must be a number above 0" : "must be a number");
    }
    return value;
  }

  double needed_number(std::string_view column, double least) const {
    const std::optional<double> value = number(column, least);
    if (!value) fail(column, "must be given");
    return *value;
  }

  // A number, nothing, or the word sweep.
  std::optional<double> clock(std::string_view column, ModelTarget& target) const {
    if (field(column) != "sweep") return number(column, kLeastClock);
    if (!target.sweep.empty()) fail(column, "one knob alone can be swept");
    target.sweep = column;
    return std::nullopt;
  }

  ModelTarget read_target();

  static constexpr double kLeastClock = 1e-3;
  CsvLines lines_;
  std::vector<std::string> columns_;
  std::set<std::string> ids_;
};

ModelTarget TargetParser::read_target() {
  if (lines_.fields().size() != columns_.size()) {
    lines_.fail(std::to_string(lines_.fields().size()) + " fields, and the first line names " +
                std::to_string(columns_.size()) + " columns");
  }
  ModelTarget target;
  target.id = field("id");
  if (target.id.empty()) fail("id", "must be given");
  if (!ids_.insert(target.id).second) fail("id", "is the id of an earlier line too");
  target.device = field("device");
  target.workload = field("workload");
  const std::string& kind = field("kind");
  if (kind != "train" && kind != "infer") fail("kind", "must be train or infer");
  target.kind = kind == "train" ? Kind::train : Kind::infer;
  target.batch_size = needed_number("batch_size", 1);
  target.workers = number("num_workers", 0);
  target.cpu_cores = number("cpu_cores", 1);
  target.cpu_mhz = clock("cpu_mhz", target);
  target.gpu_mhz = clock("gpu_mhz", target);
  target.mem_mhz = clock("mem_mhz", target);
  target.label = field("mode_label");
  target.metric = field("metric");
  target.value = needed_number("value", -1e12);
  target.unit = field("unit");
  target.tolerance = needed_number("tolerance_suggested", 0);
  return target;
}

}  // namespace

std::vector<ModelTarget> parse_targets(std::string_view text, std::string_view source) {
  return TargetParser(text, source).parse();
}

}  // namespace gearshift

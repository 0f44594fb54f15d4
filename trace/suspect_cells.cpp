#include "trace/suspect_cells.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "controller/profile_name.h"

namespace gearshift {
namespace {

constexpr std::array<std::string_view, 6> kKnobs = {
    "cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz", "power_limit_w", "cpu_quota_percent"};
constexpr std::array<std::string_view, 6> kOthers = {"device",     "workload",     "kind",
                                                     "batch_size", "minibatch_ms", "power_w"};
constexpr double kMostNumber = 1e9;
constexpr double kRounding = 0.01;  // of times and powers, ms and W

class SuspectParser {
 public:
  SuspectParser(std::string_view text, std::string_view source) : lines_(text, source) {}

  std::vector<SuspectCell> parse() {
    read_header();
    std::vector<SuspectCell> cells;
    while (lines_.next()) {
      if (cells.size() == kMostSuspects) {
        lines_.fail("more than " + std::to_string(kMostSuspects) + " rows; split the file");
      }
      cells.push_back(read_row());
    }
    return cells;
  }

 private:
  [[noreturn]] void fail(std::string_view column, const std::string& expected) const {
    lines_.fail(std::string(column) + " = '" + printable(field(column)) + "': " + expected);
  }

  void read_header() {
    if (!lines_.next()) lines_.fail_at(1, "a first line that names the columns is missing");
    columns_ = lines_.fields();
    for (const auto& names : {kKnobs, kOthers}) {
      for (const std::string_view name : names) {
        if (std::count(columns_.begin(), columns_.end(), name) > 1) {
          lines_.fail("column " + std::string(name) + " is there twice; name each column once");
        }
      }
    }
    for (const std::string_view needed : {"workload", "batch_size"}) {
      if (std::find(columns_.begin(), columns_.end(), needed) == columns_.end()) {
        lines_.fail("column " + std::string(needed) + " is missing; a list of cells has it");
      }
    }
  }

  // Empty where there is no such column.
  const std::string& field(std::string_view column) const {
    static const std::string kEmpty;
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end()
               ? kEmpty
               : lines_.fields()[static_cast<std::size_t>(found - columns_.begin())];
  }
  std::string name(std::string_view column) const {
    const std::string& value = field(column);
    if (const auto objection = name_objection(value)) fail(column, *objection);
    return value;
  }
  std::optional<double> number(std::string_view column) const {
    const std::string& text = field(column);
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        !(value > 0 && value <= kMostNumber)) {
      fail(column, "must be a number above 0, at most 1000000000");
    }
    return value;
  }
  SuspectCell read_row() const;

  CsvLines lines_;
  std::vector<std::string> columns_;
};

SuspectCell SuspectParser::read_row() const {
  if (lines_.fields().size() != columns_.size()) {
    lines_.fail("the line has " + std::to_string(lines_.fields().size()) +
                " fields; the first line names " + std::to_string(columns_.size()));
  }
  SuspectCell cell;
  if (!field("device").empty()) cell.device = name("device");
  cell.workload = name("workload");
  const std::string& kind = field("kind");
  if (kind == "train" || kind == "infer") {
    cell.kind = kind == "train" ? Kind::train : Kind::infer;
  } else if (!kind.empty()) {
    fail("kind", "must be train or infer, or empty");
  }
  const auto batch_size = number("batch_size");
  if (!batch_size || *batch_size > kMostBatchSize || *batch_size != std::floor(*batch_size)) {
    fail("batch_size", "must be a whole number from 1 to 1000000");
  }
  cell.batch_size = static_cast<std::int32_t>(*batch_size);
  for (const std::string_view knob : kKnobs) {
    if (const auto value = number(knob)) cell.knobs.emplace_back(knob, *value);
  }
  if (cell.knobs.empty()) {
    lines_.fail("no knob has a value: it would mean every mode; give gpu_mhz or others");
  }
  cell.minibatch_ms = number("minibatch_ms");
  cell.power_w = number("power_w");
  return cell;
}

bool near(const std::optional<double>& said, double measured) {
  return !said || std::abs(*said - measured) <= kRounding;
}

}  // namespace

std::vector<SuspectCell> parse_suspect_cells(std::string_view text, std::string_view source) {
  return SuspectParser(text, source).parse();
}

std::vector<SuspectCell> read_suspect_cells(const std::filesystem::path& path) {
  return parse_suspect_cells(read_csv_text(path, kMostSuspectBytes), path.string());
}

bool means(const SuspectCell& suspect, const Profile& profile, const ProfileCell& cell) {
  if (suspect.workload != profile.workload || suspect.batch_size != cell.batch_size ||
      (suspect.device && *suspect.device != profile.device) ||
      (suspect.kind && *suspect.kind != profile.kind) ||
      !near(suspect.minibatch_ms, cell.minibatch_ms) || !near(suspect.power_w, cell.power_w)) {
    return false;
  }
  const KnobSpace& space = profile.knobs();
  return std::all_of(suspect.knobs.begin(), suspect.knobs.end(), [&](const auto& knob) {
    const auto place = space.find(knob.first);
    if (!place) return false;
    const double scale = unit_scale(space.knobs[*place].unit);
    return std::llround(knob.second * scale) == cell.mode.values[*place];
  });
}

std::vector<bool> suspects_in(const Profile& profile, std::span<const SuspectCell> suspects) {
  std::vector<bool> found;
  for (const ProfileCell& cell : profile.cells()) {
    found.push_back(std::any_of(suspects.begin(), suspects.end(),
                                [&](const SuspectCell& one) { return means(one, profile, cell); }));
  }
  return found;
}

}  // namespace gearshift

#include "trace/profile_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "controller/profile_name.h"
#include "trace/csv_text.h"
#include "trace/replace_file.h"

namespace gearshift {
namespace {

struct KnobColumn {
  std::string_view name;
  Unit unit;
  KnobClass knob_class;
  double most;  // in the unit people read
  bool follows_cores;
};

constexpr std::array<KnobColumn, 6> kKnobColumns = {{
    {"cpu_cores", Unit::count, KnobClass::hotplug, 4096, true},
    {"cpu_mhz", Unit::khz, KnobClass::clock, 20'000, true},
    {"gpu_mhz", Unit::khz, KnobClass::clock, 20'000, false},
    {"mem_mhz", Unit::khz, KnobClass::memory, 20'000, false},
    {"power_limit_w", Unit::mw, KnobClass::power_limit, 100'000, false},
    {"cpu_quota_percent", Unit::percent, KnobClass::clock, 409'600, false},
}};
constexpr std::size_t kQuota = 5;  // written only where a profile has it

constexpr std::array<std::string_view, 8> kOtherColumns = {
    "device", "workload", "kind", "batch_size", "minibatch_ms", "epoch_s", "power_w", "energy_j"};
constexpr double kMostTime = 1e9;           // ms or s: more than any measurement takes
constexpr double kLeastMinibatchMs = 1e-3;  // no device begins and ends one sooner
constexpr double kMostPowerW = 1e6;         // a container full of servers
constexpr double kMostEnergyJ = 1e15;       // the product of both
constexpr double kEnergyTolerance = 0.1;    // of that product

std::string describe_limit(double most) {
  return describe_value(Unit::count, static_cast<std::int64_t>(most));
}

// One line, before it is known what knobs its profile has.
struct Row {
  std::array<std::int64_t, kKnobColumns.size()> knobs{};  // 0: empty
  ProfileCell cell;
  std::size_t line = 0;
};

struct Group {
  std::string device;
  std::string workload;
  Kind kind = Kind::train;
  std::vector<Row> rows;
};

class ProfileParser {
 public:
  ProfileParser(std::string_view text, std::string_view source) : lines_(text, source) {}

  std::vector<Profile> parse() {
    read_header();
    std::size_t rows = 0;
    while (lines_.next()) {
      if (++rows > kMostProfileRows) {
        lines_.fail("more than " + std::to_string(kMostProfileRows) + " rows; split the file");
      }
      read_row();
    }
    std::vector<Profile> profiles;
    for (const Group& group : groups_) profiles.push_back(build(group));
    return profiles;
  }

 private:
  [[noreturn]] void fail(std::string_view column, std::string_view value,
                         const std::string& expected) const {
    lines_.fail(std::string(column) + " = '" + printable(value) + "': " + expected);
  }

  void read_header();
  void read_row();
  const std::string& field(std::string_view column) const;  // empty where there is no such column
  std::string name(std::string_view column) const;
  std::optional<double> number(std::string_view column, double most) const;
  double needed_number(std::string_view column, double most) const;
  std::int64_t whole(std::string_view column, double value, double scale) const;
  Group& group(const std::string& device, const std::string& workload, Kind kind);
  void check_energy(const ProfileCell& cell) const;
  void check_knobs(const Row& row, const Row& first) const;
  Profile build(const Group& group) const;

  CsvLines lines_;
  std::vector<std::string> columns_;
  std::vector<Group> groups_;
  std::size_t last_group_ = 0;  // rows of a profile mostly follow each other
};

void ProfileParser::read_header() {
  if (!lines_.next()) lines_.fail_at(1, "a profile needs a first line that names its columns");
  columns_ = lines_.fields();
  std::string known;
  for (const std::string_view name : kOtherColumns) known.append(" ").append(name);
  for (const KnobColumn& knob : kKnobColumns) known.append(" ").append(knob.name);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string& column = columns_[i];
    const bool is_known =
        std::find(kOtherColumns.begin(), kOtherColumns.end(), column) != kOtherColumns.end() ||
        std::any_of(kKnobColumns.begin(), kKnobColumns.end(),
                    [&](const KnobColumn& knob) { return knob.name == column; });
    if (!is_known)
      fail("column " + std::to_string(i + 1), column, "no such column; there are" + known);
    if (std::find(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(i), column) !=
        columns_.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail("column " + std::to_string(i + 1), column, "is there already; name each column once");
    }
  }
  for (const std::string_view needed : {"device", "workload", "kind", "batch_size", "power_w"}) {
    if (std::find(columns_.begin(), columns_.end(), needed) == columns_.end()) {
      lines_.fail("column " + std::string(needed) + " is missing; every profile has it");
    }
  }
}

const std::string& ProfileParser::field(std::string_view column) const {
  static const std::string kEmpty;
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  return found == columns_.end()
             ? kEmpty
             : lines_.fields()[static_cast<std::size_t>(found - columns_.begin())];
}

std::string ProfileParser::name(std::string_view column) const {
  const std::string& value = field(column);
  if (const auto objection = name_objection(value)) fail(column, value, *objection);
  return value;
}

std::optional<double> ProfileParser::number(std::string_view column, double most) const {
  const std::string& text = field(column);
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= most)) {
    fail(column, text, "must be a number above 0, at most " + describe_limit(most));
  }
  return value;
}

double ProfileParser::needed_number(std::string_view column, double most) const {
  const std::optional<double> value = number(column, most);
  if (!value) fail(column, "", "must be a number above 0; a row without it says nothing");
  return *value;
}

// `value` in units of 1/scale; what is finer than that is rounded away.
std::int64_t ProfileParser::whole(std::string_view column, double value, double scale) const {
  const bool is_count = scale == 1;
  if (is_count && value != std::floor(value)) fail(column, field(column), "must be a whole number");
  const std::int64_t rounded = std::llround(value * scale);
  if (rounded == 0) fail(column, field(column), "must be at least " + shortest_text(1 / scale));
  return rounded;
}

Group& ProfileParser::group(const std::string& device, const std::string& workload, Kind kind) {
  const auto is_it = [&](const Group& one) {
    return one.kind == kind && one.workload == workload && one.device == device;
  };
  if (last_group_ < groups_.size() && is_it(groups_[last_group_])) return groups_[last_group_];
  const auto found = std::find_if(groups_.begin(), groups_.end(), is_it);
  last_group_ = static_cast<std::size_t>(found - groups_.begin());
  if (found == groups_.end()) groups_.push_back({device, workload, kind, {}});
  return groups_[last_group_];
}

// Time multiplied by power says it too: where it says something else, one of the three is wrong.
void ProfileParser::check_energy(const ProfileCell& cell) const {
  const std::optional<double> energy_j = number("energy_j", kMostEnergyJ);
  if (!energy_j || !cell.timed()) return;
  const double expected_j = cell.minibatch_ms / 1000 * cell.power_w;
  if (std::abs(*energy_j - expected_j) <= kEnergyTolerance * expected_j) return;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", expected_j);
  fail("energy_j", field("energy_j"),
       field("minibatch_ms") + " ms at " + field("power_w") + " W take " + text.data() +
           " J; it is of one minibatch, in joules, or leave it empty");
}

void ProfileParser::check_knobs(const Row& row, const Row& first) const {
  for (std::size_t i = 0; i < kKnobColumns.size(); ++i) {
    if ((row.knobs[i] == 0) == (first.knobs[i] == 0)) continue;
    fail(kKnobColumns[i].name, field(kKnobColumns[i].name),
         std::string(row.knobs[i] == 0 ? "must be given" : "must be empty") + ", as in line " +
             std::to_string(first.line) + " of the same device, workload and kind");
  }
}

void ProfileParser::read_row() {
  const std::size_t count = lines_.fields().size();
  if (count != columns_.size()) {
    lines_.fail(std::to_string(count) + " fields, and the first line names " +
                std::to_string(columns_.size()) + " columns; leave what does not apply empty");
  }
  Row row;
  row.line = lines_.line();
  const std::string device = name("device");
  const std::string workload = name("workload");
  const std::string& kind = field("kind");
  if (kind != "train" && kind != "infer") fail("kind", kind, "must be train or infer");
  row.cell.batch_size = static_cast<std::int32_t>(
      whole("batch_size", needed_number("batch_size", kMostBatchSize), 1));
  for (std::size_t i = 0; i < kKnobColumns.size(); ++i) {
    const KnobColumn& knob = kKnobColumns[i];
    const std::optional<double> value = number(knob.name, knob.most);
    if (value) row.knobs[i] = whole(knob.name, *value, unit_scale(knob.unit));
  }
  const std::optional<double> minibatch_ms = number("minibatch_ms", kMostTime);
  if (minibatch_ms && *minibatch_ms < kLeastMinibatchMs) {
    fail("minibatch_ms", field("minibatch_ms"),
         "must be at least " + shortest_text(kLeastMinibatchMs) + ": it is in milliseconds");
  }
  row.cell.epoch_s = number("epoch_s", kMostTime);
  if (!minibatch_ms && !row.cell.epoch_s) {
    fail("minibatch_ms", "", "must be given where epoch_s is not: how long did it take?");
  }
  row.cell.minibatch_ms = minibatch_ms.value_or(kNotTimed);
  row.cell.power_w = needed_number("power_w", kMostPowerW);
  check_energy(row.cell);
  Group& home = group(device, workload, kind == "train" ? Kind::train : Kind::infer);
  if (!home.rows.empty()) check_knobs(row, home.rows.front());
  home.rows.push_back(row);
}

Profile ProfileParser::build(const Group& group) const {
  KnobSpace space;
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < kKnobColumns.size(); ++i) {
    if (group.rows.front().knobs[i] == 0) continue;
    std::vector<std::int64_t> values;
    values.reserve(group.rows.size());
    for (const Row& row : group.rows) values.push_back(row.knobs[i]);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    space.knobs.push_back({std::string(kKnobColumns[i].name), kKnobColumns[i].unit,
                           kKnobColumns[i].knob_class, std::move(values),
                           kKnobColumns[i].follows_cores});
    used.push_back(i);
  }
  Profile profile(std::move(space));
  profile.device = group.device;
  profile.workload = group.workload;
  profile.kind = group.kind;
  for (const Row& row : group.rows) {
    ProfileCell cell = row.cell;
    cell.mode.count = static_cast<std::uint8_t>(used.size());
    for (std::size_t i = 0; i < used.size(); ++i) cell.mode.values[i] = row.knobs[used[i]];
    if (profile.add(cell)) continue;
    const ProfileCell* first = profile.find(cell.mode, cell.batch_size);
    const auto place = static_cast<std::size_t>(first - profile.cells().data());
    lines_.fail_at(row.line,
                   group.device + " " + group.workload + " " + std::string(kind_name(group.kind)) +
                       " batch_size=" + std::to_string(cell.batch_size) + " " +
                       profile.knobs().describe(cell.mode) + ": is in line " +
                       std::to_string(group.rows[place].line) + " already; keep one of the two");
  }
  return profile;
}

std::string knob_text(const Profile& profile, const PowerMode& mode, std::string_view name) {
  const std::optional<std::size_t> knob = profile.knobs().find(name);
  return knob ? describe_value(profile.knobs().knobs[*knob].unit, mode.values[*knob]) : "";
}

void append_row(std::string& text, const Profile& profile, const ProfileCell& cell,
                std::size_t knobs) {
  if (!(cell.batch_size > 0 && cell.minibatch_ms >= kLeastMinibatchMs && cell.power_w > 0 &&
        std::isfinite(cell.power_w) && (cell.timed() || cell.epoch_s))) {
    throw CsvError(profile.device + " " + profile.workload + " " +
                   profile.knobs().describe(cell.mode) +
                   ": batch size and power must be above 0, and a minibatch's time measured and " +
                   "at least " + shortest_text(kLeastMinibatchMs) + " ms");
  }
  text += csv_field(profile.device) + "," + csv_field(profile.workload) + "," +
          std::string(kind_name(profile.kind)) + "," + std::to_string(cell.batch_size);
  for (std::size_t i = 0; i < knobs; ++i) {
    text += "," + knob_text(profile, cell.mode, kKnobColumns[i].name);
  }
  text += "," + (cell.timed() ? shortest_text(cell.minibatch_ms) : "") + "," +
          (cell.epoch_s ? shortest_text(*cell.epoch_s) : "") + "," + shortest_text(cell.power_w) +
          "\n";
}

bool has_knob(std::span<const Profile> profiles, std::string_view name) {
  return std::any_of(profiles.begin(), profiles.end(),
                     [&](const Profile& one) { return one.knobs().find(name).has_value(); });
}

}  // namespace

std::vector<Profile> parse_profiles(std::string_view text, std::string_view source) {
  if (text.size() > kMostProfileBytes) {
    throw CsvError(std::string(source) + ": has " + std::to_string(text.size()) +
                   " bytes; at most " + std::to_string(kMostProfileBytes) + " are allowed");
  }
  return ProfileParser(text, source).parse();
}

std::vector<Profile> read_profiles(const std::filesystem::path& path) {
  return parse_profiles(read_csv_text(path, kMostProfileBytes), path.string());
}

// What could not be read back is not written.
std::optional<std::string> unwritable(const Profile& profile) {
  for (const std::string& name : {profile.device, profile.workload}) {
    if (const auto objection = name_objection(name)) {
      return "a profile of '" + printable(name) + "' cannot be written: a name of a device or a " +
             "workload " + *objection;
    }
  }
  for (const Knob& knob : profile.knobs().knobs) {
    const bool has_column =
        std::any_of(kKnobColumns.begin(), kKnobColumns.end(), [&](const KnobColumn& column) {
          return column.name == knob.name && column.unit == knob.unit;
        });
    if (!has_column) {
      return "knob " + printable(knob.name) +
             ": a profile file has no column for it; leave it out of the profile";
    }
  }
  return std::nullopt;
}

std::string format_profiles(std::span<const Profile> profiles) {
  const std::size_t knobs = has_knob(profiles, kKnobColumns[kQuota].name) ? kQuota + 1 : kQuota;
  std::string text = "device,workload,kind,batch_size";
  for (std::size_t i = 0; i < knobs; ++i) text.append(",").append(kKnobColumns[i].name);
  text += ",minibatch_ms,epoch_s,power_w\n";
  for (const Profile& profile : profiles) {
    if (const auto why = unwritable(profile)) throw CsvError(*why);
    for (const ProfileCell& cell : profile.cells()) append_row(text, profile, cell, knobs);
  }
  return text;
}

void write_profiles(const std::filesystem::path& path, std::span<const Profile> profiles) {
  replace_file(path, format_profiles(profiles));
}

}  // namespace gearshift

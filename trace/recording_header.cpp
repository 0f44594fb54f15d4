#include "trace/recording_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <type_traits>

#include "trace/csv_lines.h"
#include "trace/profile_csv.h"
#include "trace/recording_names.h"
#include "trace/recording_schema.h"

namespace gearshift {
namespace {

constexpr std::string_view kHowToRead =
    "; a recording is what `gearshift run --record FILE` writes";

// Metadata: one list of fields, walked by the writer and by the reader.

// Keys that recordings made before them lack: what they tell was then as the header's default is.
constexpr std::string_view kLaterKeys[] = {
    "energy_weight", "reference_s",           "reference_j",        "priced_power_mw",
    "goal_energy_j", "checkpoint_timeout_ns", "power_averaging_ns", "power_rounding_mw",
    "power_counts",  "objective_by_default"};

bool may_be_missing(std::string_view key) {
  return std::find(std::begin(kLaterKeys), std::end(kLaterKeys), key) != std::end(kLaterKeys);
}

// Calls `visit(key, member)` for every field that is one row of the table. A field of
// ControllerOptions that is missing here would not be replayed: the bindings name every one, so
// that a new one does not compile until it is recorded.
template <typename Header, typename Visit>
void each_field(Header& header, Visit visit) {
  visit("gearshift_version", header.gearshift_version);
  visit("command", header.command);
  visit("started_unix_ms", header.started_unix_ms);
  visit("board_id", header.traits.name);
  visit("power_window_ns", header.traits.power_window);
  visit("power_averaging_ns", header.traits.power_averaging);
  visit("power_rounding_mw", header.traits.power_rounding_mw);
  visit("power_counts", header.traits.power_counts);
  visit("stale_after_ns", header.traits.stale_after);
  visit("apply_timeout_ns", header.traits.apply_timeout);
  auto& [period, duration, goal, seed, prior, meter, workload_timeout, most_measurements,
         goal_dwell, checkpoint_timeout] = header.options;
  static_cast<void>(prior);  // texts of their own
  visit("period_ns", period);
  visit("duration_ns", duration);
  visit("seed", seed);
  visit("workload_timeout_ns", workload_timeout);
  visit("most_measurements", most_measurements);
  visit("goal_dwell_ns", goal_dwell);
  visit("checkpoint_timeout_ns", checkpoint_timeout);
  auto& [objective, power_mw, latency, arrivals_per_s, one_by_one, energy_weight, reference_s,
         reference_j, priced_power_mw, energy_j, objective_by_default] = goal;
  static_cast<void>(one_by_one);  // what the run's servers report tells it
  visit("objective", objective);
  visit("goal_power_mw", power_mw);
  visit("goal_latency_ns", latency);
  visit("arrivals_per_s", arrivals_per_s);
  visit("energy_weight", energy_weight);
  visit("reference_s", reference_s);
  visit("reference_j", reference_j);
  visit("priced_power_mw", priced_power_mw);
  visit("goal_energy_j", energy_j);
  visit("objective_by_default", objective_by_default);
  auto& [least_minibatches, most_minibatches, confidence, settle_tolerance, settle_most,
         power_least, most_time, stall_after, first_minibatch_most] = meter;
  visit("meter_least_minibatches", least_minibatches);
  visit("meter_most_minibatches", most_minibatches);
  visit("meter_confidence", confidence);
  visit("meter_settle_tolerance", settle_tolerance);
  visit("meter_settle_most_ns", settle_most);
  visit("meter_power_least_ns", power_least);
  visit("meter_most_time_ns", most_time);
  visit("meter_stall_after_ns", stall_after);
  visit("meter_first_minibatch_most_ns", first_minibatch_most);
}

void bind(Statement& row, const std::string& value) { row.text(value); }
void bind(Statement& row, double value) { row.real(value); }
void bind(Statement& row, Duration value) { row.integer(value.count()); }
void bind(Statement& row, Objective value) { row.text(word_of(value)); }
template <typename Integer>
requires std::is_integral_v<Integer>
void bind(Statement& row, Integer value) { row.integer(static_cast<std::int64_t>(value)); }
template <typename Value>
void bind(Statement& row, const std::optional<Value>& value) {
  if (value) {
    bind(row, *value);
  } else {
    row.null();
  }
}

void read(const Statement& row, std::string& value) { value = row.text_at(1); }
void read(const Statement& row, double& value) { value = row.real_at(1); }
void read(const Statement& row, Duration& value) { value = Duration(row.integer_at(1)); }
void read(const Statement& row, Objective& value) {
  const auto known = from_word<Objective>(row.text_at(1));
  if (!known) throw RecordingError("unknown objective '" + printable(row.text_at(1)) + "'");
  value = *known;
}
template <typename Integer>
requires std::is_integral_v<Integer>
void read(const Statement& row, Integer& value) { value = static_cast<Integer>(row.integer_at(1)); }
template <typename Value>
void read(const Statement& row, std::optional<Value>& value) {
  value.reset();
  if (!row.is_null(1)) read(row, value.emplace());
}

// Modes: four bytes each, little-endian, their index in the knob space.

// The last knob counts fastest.
std::optional<std::uint32_t> mode_index(const KnobSpace& space, const PowerMode& mode) {
  if (mode.count != space.size()) return std::nullopt;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const auto& values = space.knobs[i].values;
    const auto found = std::find(values.begin(), values.end(), mode.values[i]);
    if (found == values.end()) return std::nullopt;
    at = at * values.size() + static_cast<std::uint64_t>(found - values.begin());
    if (at > UINT32_MAX) return std::nullopt;
  }
  return static_cast<std::uint32_t>(at);
}

std::optional<PowerMode> mode_at(const KnobSpace& space, std::uint64_t at) {
  PowerMode mode;
  mode.count = static_cast<std::uint8_t>(space.size());
  for (std::size_t i = space.size(); i-- > 0;) {
    const auto& values = space.knobs[i].values;
    mode.values[i] = values[at % values.size()];
    at /= values.size();
  }
  if (at != 0) return std::nullopt;
  return mode;
}

std::vector<std::byte> pack(const KnobSpace& space, const std::vector<PowerMode>& modes) {
  std::vector<std::byte> bytes;
  bytes.reserve(4 * modes.size());
  for (const PowerMode& mode : modes) {
    const auto at = mode_index(space, mode);
    if (!at) throw RecordingError("a mode that is not in the knob space cannot be recorded");
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<std::byte>(*at >> shift & 0xff));
    }
  }
  return bytes;
}

PowerMode unpack(const KnobSpace& space, std::span<const std::byte> bytes, std::string_view key) {
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < 4; ++i) at |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  const auto mode = mode_at(space, at);
  if (!mode) {
    throw RecordingError("metadata." + std::string(key) + ": no mode has index " +
                         std::to_string(at));
  }
  return *mode;
}

void write_modes(Database& database, std::string_view key, const KnobSpace& space,
                 const std::vector<PowerMode>& modes) {
  const std::vector<std::byte> bytes = pack(space, modes);
  Statement row(database, "INSERT INTO metadata VALUES (?, ?)");
  row.text(key).blob(bytes).run();
}

std::vector<PowerMode> read_modes(Database& database, std::string_view key,
                                  const KnobSpace& space) {
  Statement row(database, "SELECT value FROM metadata WHERE key = ?");
  row.text(key);
  std::vector<PowerMode> modes;
  if (!row.step()) return modes;
  std::span<const std::byte> bytes = row.blob_at(0);
  if (bytes.size() % 4 != 0) {
    throw RecordingError("metadata." + std::string(key) + ": " + std::to_string(bytes.size()) +
                         " bytes, not 4 a mode");
  }
  for (; !bytes.empty(); bytes = bytes.subspan(4)) modes.push_back(unpack(space, bytes, key));
  return modes;
}

// Knobs and texts.

void write_knobs(Database& database, const KnobSpace& space) {
  Statement knob_row(database, "INSERT INTO knobs VALUES (?, ?, ?, ?, ?)");
  Statement value_row(database, "INSERT INTO knob_values VALUES (?, ?)");
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Knob& knob = space.knobs[i];
    const auto number = static_cast<std::int64_t>(i);
    knob_row.integer(number).text(knob.name).text(word_of(knob.unit));
    knob_row.text(word_of(knob.knob_class)).integer(knob.follows_cores).run();
    for (const std::int64_t value : knob.values) value_row.integer(number).integer(value).run();
  }
}

KnobSpace read_knobs(Database& database, std::int64_t version) {
  KnobSpace space;
  const std::string follows_cores = version <= 6 ? "substr(name, 1, 4) = 'cpu_'" : "follows_cores";
  Statement row(database,
                "SELECT knob, name, unit, class, " + follows_cores + " FROM knobs ORDER BY knob");
  while (row.step()) {
    const auto unit = from_word<Unit>(row.text_at(2));
    const auto knob_class = from_word<KnobClass>(row.text_at(3));
    const bool next = row.integer_at(0) == static_cast<std::int64_t>(space.size());
    if (!unit || !knob_class || !next || space.size() == kMaxKnobs) {
      throw RecordingError("knobs: row " + std::to_string(row.integer_at(0)) +
                           " is not a knob (at most 8, numbered from 0)");
    }
    space.knobs.push_back(
        {std::string(row.text_at(1)), *unit, *knob_class, {}, row.integer_at(4) != 0});
  }
  Statement values(database, "SELECT knob, value FROM knob_values ORDER BY rowid");
  while (values.step()) {
    const std::int64_t knob = values.integer_at(0);
    if (knob < 0 || knob >= static_cast<std::int64_t>(space.size())) {
      throw RecordingError("knob_values: there is no knob " + std::to_string(knob));
    }
    auto& list = space.knobs[static_cast<std::size_t>(knob)].values;
    if (!list.empty() && list.back() >= values.integer_at(1)) {
      throw RecordingError("knob_values: the values of knob " + std::to_string(knob) +
                           " are not lowest first");
    }
    list.push_back(values.integer_at(1));
  }
  for (const Knob& knob : space.knobs) {
    if (knob.values.empty()) {
      throw RecordingError("knob_values: " + printable(knob.name) + " has none");
    }
  }
  return space;
}

void write_texts(Database& database, const RecordingHeader& header) {
  Statement row(database, "INSERT INTO texts VALUES (?, ?, ?)");
  row.text("policy").text(header.policy.name).text(header.policy.text).run();
  row.text("board").text(header.board.name).text(header.board.text).run();
  for (const Profile* prior : header.options.prior) {
    const std::string name = prior->device + " " + prior->workload;
    const std::string text = format_profiles(std::span(prior, 1));
    if (text.size() > kMostProfileBytes) {
      throw RecordingError("prior " + name + ": " + std::to_string(text.size()) +
                           " bytes of text cannot be recorded; at most " +
                           std::to_string(kMostProfileBytes) + " are allowed");
    }
    row.text("prior").text(name).text(text).run();
  }
  Statement source(database, "INSERT INTO limit_sources VALUES (?, ?)");
  for (std::size_t i = 0; i < header.limits.size(); ++i) {
    source.integer(static_cast<std::int64_t>(i)).text(header.limits[i]).run();
  }
}

void read_texts(Database& database, RecordingHeader& header) {
  Statement row(database, "SELECT role, name, text FROM texts ORDER BY rowid");
  while (row.step()) {
    NamedText text{std::string(row.text_at(1)), std::string(row.text_at(2))};
    const std::string_view role = row.text_at(0);
    if (role == "policy") {
      header.policy = std::move(text);
    } else if (role == "board") {
      header.board = std::move(text);
    } else {
      for (Profile& prior : parse_profiles(text.text, text.name)) {
        header.priors.push_back(std::move(prior));
      }
    }
  }
  Statement source(database, "SELECT source, name FROM limit_sources ORDER BY source");
  while (source.step()) {
    if (source.integer_at(0) != static_cast<std::int64_t>(header.limits.size())) {
      throw RecordingError("limit_sources: they are not numbered from 0");
    }
    header.limits.emplace_back(source.text_at(1));
  }
}

// Is it one of ours, and can a run have been like this.

// A recording's tables are in FILE-wal until the run has ended or written for a while, and SQLite
// makes an empty one for whoever reads a file that was copied without its own.
bool has_left_its_wal(Database& database) {
  Statement mode(database, "PRAGMA journal_mode");
  if (!mode.step() || mode.text_at(0) != "wal") return false;
  if (database.integer("SELECT count(*) FROM sqlite_schema") != 0) return false;
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(database.name() + "-wal", missing);
  return missing || bytes == 0;
}

std::int64_t check_tables(Database& database) {
  const std::int64_t application = database.integer("PRAGMA application_id").value_or(0);
  if (application != kRecordingApplication && has_left_its_wal(database)) {
    const std::string wal = database.name() + "-wal";
    throw RecordingError("holds nothing by itself: what a killed run recorded is in " + wal +
                         ", which is not beside it; copy both from where the run was");
  }
  if (application != kRecordingApplication) {
    throw RecordingError("not a recording of gearshift" + std::string(kHowToRead));
  }
  const std::int64_t version = database.integer("PRAGMA user_version").value_or(0);
  if (version > kRecordingVersion || version < 1) {
    throw RecordingError("a recording of format " + std::to_string(version) +
                         "; this gearshift reads formats 1 to " +
                         std::to_string(kRecordingVersion) +
                         (version > kRecordingVersion ? ": use the newer one that wrote it" : ""));
  }
  for (const Table& table : recording_tables(version)) {
    Statement found(database, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?");
    found.text(table.name);
    if (!found.step() || found.text_at(0) != table.sql) {
      throw RecordingError("table " + std::string(table.name) + " is not as format " +
                           std::to_string(version) + " has it (trace/FORMAT.md)");
    }
  }
  return version;
}

void check_header(const RecordingHeader& header) {
  const auto fail = [](std::string_view key, std::string_view what) {
    throw RecordingError("metadata." + std::string(key) + ": " + std::string(what));
  };
  const BoardTraits& traits = header.traits;
  if (header.options.period <= Duration::zero()) fail("period_ns", "must be above 0");
  if (traits.power_window <= Duration::zero()) fail("power_window_ns", "must be above 0");
  if (traits.stale_after <= Duration::zero()) fail("stale_after_ns", "must be above 0");
  // Sums of a time and any of these must not overflow.
  constexpr Duration kLongest = std::chrono::hours(24 * 366);
  const MeterOptions& meter = header.options.meter;
  for (const Duration duration :
       {header.options.period, traits.power_window, traits.power_averaging, traits.stale_after,
        traits.apply_timeout, header.options.workload_timeout, header.options.goal_dwell,
        header.options.checkpoint_timeout, meter.settle_most, meter.power_least, meter.most_time,
        meter.stall_after, meter.first_minibatch_most}) {
    if (duration < Duration::zero() || duration > kLongest) {
      fail("*_ns", std::to_string(duration.count()) + " ns is not between 0 and a year");
    }
  }
}

}  // namespace

void write_header(Database& database, const RecordingHeader& header) {
  each_field(header, [&](std::string_view key, const auto& value) {
    Statement row(database, "INSERT INTO metadata VALUES (?, ?)");
    row.text(key);
    bind(row, value);
    row.run();
  });
  write_modes(database, "modes", header.knobs, header.traits.modes);
  if (header.traits.safe) write_modes(database, "safe_mode", header.knobs, {*header.traits.safe});
  write_knobs(database, header.knobs);
  write_texts(database, header);
}

RecordingHeader read_header(Database& database, std::int64_t& version) {
  version = check_tables(database);
  RecordingHeader header;
  each_field(header, [&](std::string_view key, auto& value) {
    Statement row(database, "SELECT key, value FROM metadata WHERE key = ?");
    row.text(key);
    if (row.step()) {
      read(row, value);
    } else if (!may_be_missing(key)) {
      throw RecordingError("metadata." + std::string(key) + " is missing");
    }
  });
  header.knobs = read_knobs(database, version);
  header.traits.modes = read_modes(database, "modes", header.knobs);
  const std::vector<PowerMode> safe = read_modes(database, "safe_mode", header.knobs);
  if (!safe.empty()) header.traits.safe = safe.front();
  read_texts(database, header);
  check_header(header);
  return header;
}

std::optional<std::string> read_end(Database& database) {
  Statement row(database, "SELECT value FROM metadata WHERE key = 'end'");
  if (!row.step()) return std::nullopt;
  return std::string(row.text_at(0));
}

}  // namespace gearshift

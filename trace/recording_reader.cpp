#include "trace/recording_reader.h"

#include <algorithm>
#include <utility>

#include "trace/csv_lines.h"
#include "trace/recording_cursor.h"
#include "trace/recording_events.h"
#include "trace/recording_header.h"

namespace gearshift {
namespace {

// More rows of one table in one tick than this are no recording of ours.
constexpr std::size_t kMostRows = 1 << 16;

Setting read_setting(const Cursor& row, std::size_t knobs) {
  Setting setting;
  for (const Kind kind : {Kind::train, Kind::infer}) {
    setting.batch_size[index(kind)] =
        row.integer<std::int32_t>(2 + static_cast<int>(kind), "batch", 0);
  }
  setting.run = row.word<Run>(4, "run");
  for (std::size_t i = 0; i < kMaxKnobs; ++i) {
    const int column = 5 + static_cast<int>(i);
    if (row.is_null(column)) break;
    setting.mode.values[i] = row.integer<std::int64_t>(column, "knob");
    ++setting.mode.count;
  }
  if (setting.mode.count != 0 && setting.mode.count != knobs) {
    row.fail("knob_" + std::to_string(setting.mode.count),
             "the board has " + std::to_string(knobs) + " knobs");
  }
  return setting;
}

// What is absurd or missing may be any number.
std::int64_t read_value(const Cursor& row, const Reading& reading) {
  if (reading.state != ReadingState::ok) return row.integer<std::int64_t>(5, "value");
  const bool energy = reading.quantity == Quantity::battery_energy ||
                      reading.quantity == Quantity::battery_capacity;
  return energy ? row.energy_mj(5, "value") : row.power_mw(5, "value");
}

Cost read_cost(const Cursor& row, int first) {
  Cost cost;
  cost.minibatches = row.integer<std::uint32_t>(first, "minibatches");
  cost.minibatch_mean = row.duration(first + 1, "minibatch_mean_ns");
  cost.minibatch_stddev = row.duration(first + 2, "minibatch_stddev_ns");
  cost.minibatch_p99 = row.duration(first + 3, "minibatch_p99_ns");
  cost.fetch_stall_mean = row.duration(first + 4, "fetch_stall_mean_ns");
  cost.compute_mean = row.duration(first + 5, "compute_mean_ns");
  return cost;
}

WithText<KnobCall> read_knob_call(const Cursor& row, std::size_t knobs, std::int64_t version) {
  KnobCall call;
  call.call = row.integer<std::uint32_t>(1, "call");
  call.action = row.word<KnobAction>(2, "action");
  call.outcome = row.word<KnobOutcome>(3, "outcome");
  if (call.action == KnobAction::read || call.action == KnobAction::write) {
    if (knobs == 0) row.fail("knob", "the board has none");
    call.knob = row.integer<std::uint32_t>(4, "knob", 0, static_cast<std::int64_t>(knobs) - 1);
    call.known = !row.is_null(5);
    call.value = row.integer<std::int64_t>(5, "value");
  }
  if (call.action == KnobAction::manage) {
    call.pid = row.integer<std::int32_t>(6, "pid");
    call.kind = row.word<Kind>(7, "kind");
  }
  if (version > 3 && !row.is_null(9)) call.wrote = row.time(9, "wrote_ns");
  return {call, std::string(row.text(8))};
}

// A run that is still being recorded is read as far as it had come.
Database in_one_view(Database database) {
  database.run("BEGIN");
  return database;
}

template <typename Visit>
void each_row(Cursor& cursor, std::int64_t tick, Visit visit) {
  std::size_t rows = 0;
  for (; cursor.at(tick); cursor.next()) {
    if (++rows > kMostRows) cursor.fail("tick", "more rows than a tick can have");
    visit(cursor);
  }
}

// Says in which file it was.
template <typename Action>
auto naming(const std::string& file, Action action) {
  try {
    return action();
  } catch (const RecordingError& error) {
    throw RecordingError(file + ": " + error.what());
  } catch (const CsvError& error) {
    throw RecordingError(file + ": texts: " + error.what());
  } catch (const NoAccessError& error) {
    throw RecordingError(error.what());
  } catch (const DatabaseError& error) {
    throw RecordingError(std::string(error.what()) +
                         "; a recording is what `gearshift run --record FILE` writes");
  }
}

}  // namespace

// One cursor a table, all at the same tick.
struct RecordingReader::Tables {
  struct Placed {
    std::uint32_t position;
    Event event;
  };

  explicit Tables(Database opened)
      : database(in_one_view(std::move(opened))),
        header(read_header(database, version)),
        end(read_end(database)),
        settings(read_settings()),
        observations(read_observations()) {}

  std::vector<Setting> read_settings();
  std::vector<Observation> read_observations();
  const Setting& setting_at(const Cursor& row, int column) const;
  void read_events(RecordedTick& tick);
  void read_decisions(RecordedTick& tick);
  bool read(RecordedTick& tick);

  Database database;
  std::int64_t version = 0;
  RecordingHeader header;
  std::optional<std::string> end;
  std::vector<Setting> settings;
  std::vector<Observation> observations;
  std::int64_t next_tick = 0;
  Time newest{};
  std::vector<Placed> placed;
  Cursor ticks{database, "ticks", "SELECT tick, time_ns FROM ticks ORDER BY tick"};
  Cursor readings{database, "readings"};
  Cursor events{database, "events"};
  Cursor minibatches{database, "minibatches"};
  // Format 1 has no such table.
  Cursor requests{database, "requests",
                  version > 1 ? "SELECT * FROM requests ORDER BY rowid" : "SELECT 0 WHERE 0"};
  Cursor workloads{database, "workloads"};
  Cursor knob_calls{database, "knob_calls"};
  Cursor explanations{database, "explanations"};
  Cursor limits{database, "limits"};
  Cursor scripts{database, "scripts"};
  // Formats before 5 have no such table.
  Cursor script_stops{
      database, "script_stops",
      version > 4 ? "SELECT * FROM script_stops ORDER BY rowid" : "SELECT 0 WHERE 0"};
  Cursor commands{database, "commands"};
  Cursor notes{database, "notes"};
};

std::vector<Setting> RecordingReader::Tables::read_settings() {
  std::vector<Setting> all;
  Cursor row(database, "settings", "SELECT * FROM settings ORDER BY setting");
  for (; row.at_row(); row.next()) {
    const auto most = static_cast<std::int64_t>(all.size());
    row.integer<std::int64_t>(0, "setting", most, most);  // numbered from 0
    all.push_back(read_setting(row, header.knobs.size()));
  }
  return all;
}

const Setting& RecordingReader::Tables::setting_at(const Cursor& row, int column) const {
  const auto most = static_cast<std::int64_t>(settings.size()) - 1;
  return settings[row.integer<std::size_t>(column, "setting", 0, most)];
}

std::vector<Observation> RecordingReader::Tables::read_observations() {
  std::vector<Observation> all;
  Cursor row(database, "observations", "SELECT * FROM observations ORDER BY observation");
  for (; row.at_row(); row.next()) {
    const auto most = static_cast<std::int64_t>(all.size());
    row.integer<std::int64_t>(0, "observation", most, most);
    Observation& observation = all.emplace_back();
    observation.setting = setting_at(row, 2);
    observation.outcome = row.known(outcome_from_word(row.text(3)), 3, "outcome");
    observation.from_memory = row.flag(4, "from_memory");
    observation.power_is_estimate = row.flag(5, "power_is_estimate");
    observation.power_mean_mw = row.power_mw(6, "power_mean_mw");
    observation.power_max_mw = row.power_mw(7, "power_max_mw");
    observation.power_margin_mw = row.power_mw(8, "power_margin_mw");
    observation.limit_mw = row.power_mw(9, "limit_mw");
    observation.duration = Duration(row.integer<std::int64_t>(10, "duration_ns", 0, kMostTimeNs));
    observation.confidence = row.real(11);
    observation.cost = {read_cost(row, 12), read_cost(row, 18)};
  }
  return all;
}

// Four tables hold the events of a tick; their positions say how they came.
void RecordingReader::Tables::read_events(RecordedTick& tick) {
  placed.clear();
  const auto place = [this](const Cursor& row, const Event& event) {
    placed.push_back({row.integer<std::uint32_t>(1, "position"), event});
  };
  each_row(events, tick.number, [&](const Cursor& row) { place(row, read_event(row)); });
  each_row(minibatches, tick.number, [&](const Cursor& row) { place(row, read_minibatch(row)); });
  each_row(requests, tick.number, [&](const Cursor& row) { place(row, read_requests(row)); });
  each_row(workloads, tick.number,
           [&](const Cursor& row) { place(row, read_workload(row, version)); });
  std::stable_sort(placed.begin(), placed.end(),
                   [](const Placed& a, const Placed& b) { return a.position < b.position; });
  tick.events.clear();
  for (const Placed& one : placed) {
    if (one.position != tick.events.size()) {
      throw RecordingError("tick " + std::to_string(tick.number) + ": event " +
                           std::to_string(tick.events.size()) + " is missing or there twice");
    }
    tick.events.push_back(one.event);
  }
}

void RecordingReader::Tables::read_decisions(RecordedTick& tick) {
  tick.commands.clear();
  each_row(commands, tick.number, [&](const Cursor& row) {
    SentCommand& sent = tick.commands.emplace_back();
    sent.workload = row.integer<WorkloadHandle>(1, "workload");
    sent.command.sequence = row.integer<std::uint32_t>(2, "sequence");
    sent.command.batch_size = row.integer<std::int32_t>(3, "batch_size");
    if (row.text(4) == kCheckpointWord) {
      sent.command.type = CommandType::checkpoint;
    } else {
      sent.command.run = row.word<Run>(4, "run");
    }
  });
  tick.notes.clear();
  each_row(notes, tick.number, [&](const Cursor& row) {
    RecordedNote& note = tick.notes.emplace_back();
    note.type = row.known(note_from_word(row.text(1), row.text(7)), 1, "type");
    note.time = row.time(2, "time_ns");
    note.workload = row.integer<WorkloadHandle>(3, "workload");
    note.value = row.integer<std::int64_t>(4, "value");
    if (!row.is_null(5)) note.setting = setting_at(row, 5);
    if (!row.is_null(6)) {
      const auto most = static_cast<std::int64_t>(observations.size()) - 1;
      note.observation = observations[row.integer<std::size_t>(6, "observation", 0, most)];
    }
    note.text = row.text(7);
  });
}

bool RecordingReader::Tables::read(RecordedTick& tick) {
  if (!ticks.at_row()) return false;
  if (!ticks.at(next_tick)) ticks.fail("tick", std::to_string(next_tick) + " is missing");
  tick.number = next_tick++;
  tick.now = ticks.time(1, "time_ns");
  if (tick.number > 0 && tick.now < newest) ticks.fail("time_ns", "time goes back");
  newest = tick.now;
  ticks.next();

  read_events(tick);
  tick.readings.clear();
  each_row(readings, tick.number, [&](const Cursor& row) {
    Reading& reading = tick.readings.emplace_back();
    reading.quantity = row.word<Quantity>(1, "quantity");
    reading.channel = row.integer<std::uint8_t>(2, "channel");
    reading.state = row.word<ReadingState>(3, "state");
    reading.estimate = row.flag(4, "estimate");
    reading.value = read_value(row, reading);
    reading.taken = row.time(6, "taken_ns");
  });
  tick.knob_calls.clear();
  each_row(knob_calls, tick.number, [&](const Cursor& row) {
    tick.knob_calls.push_back(read_knob_call(row, header.knobs.size(), version));
  });
  tick.explanations.clear();
  each_row(explanations, tick.number, [&](const Cursor& row) {
    const Explanation explanation{row.word<Quantity>(1, "quantity"),
                                  row.integer<std::uint8_t>(2, "channel")};
    tick.explanations.push_back({explanation, std::string(row.text(3))});
  });
  tick.limits.clear();
  each_row(limits, tick.number, [&](const Cursor& row) {
    LimitAnswer& answer = tick.limits.emplace_back();
    const auto most = static_cast<std::int64_t>(header.limits.size()) - 1;
    answer.source = row.integer<std::uint32_t>(1, "source", 0, most);
    if (!row.is_null(2)) answer.limit.power_mw = row.power_mw(2, "power_mw");
    answer.limit.moves = version < 6 || row.flag(5, "moves");
    if (version < 3) return;
    if (!row.is_null(3)) answer.limit.planned_mw = row.power_mw(3, "planned_mw");
    answer.limit.ends_soon = row.flag(4, "ends_soon");
  });
  tick.scripts.clear();
  each_row(scripts, tick.number,
           [&](const Cursor& row) { tick.scripts.emplace_back(row.text(1)); });
  tick.script_stops.clear();
  each_row(script_stops, tick.number, [&](const Cursor& row) {
    tick.script_stops.push_back({row.integer<std::int64_t>(1, "look", 1)});
  });
  read_decisions(tick);
  return true;
}

RecordingReader::RecordingReader(const std::filesystem::path& file)
    : tables_(
          naming(file.string(), [&] { return std::make_unique<Tables>(Database::open(file)); })) {}

RecordingReader::RecordingReader(std::span<const std::byte> bytes, std::string name)
    : tables_(naming(
          name, [&] { return std::make_unique<Tables>(Database::open_bytes(bytes, name)); })) {}

RecordingReader::~RecordingReader() = default;
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;

const RecordingHeader& RecordingReader::header() const { return tables_->header; }
std::int64_t RecordingReader::format() const { return tables_->version; }
const std::optional<std::string>& RecordingReader::end() const { return tables_->end; }

bool RecordingReader::next(RecordedTick& tick) {
  return naming(tables_->database.name(), [&] { return tables_->read(tick); });
}

}  // namespace gearshift

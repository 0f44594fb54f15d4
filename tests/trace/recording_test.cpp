// What is written comes back, in good times and in bad.
#include <gtest/gtest.h>

#include "tests/fakes/counted_allocations.h"
#include "tests/trace/recorded_run.h"
#include "trace/database.h"
#include "trace/profile_csv.h"
#include "trace/recording_reader.h"
#include "trace/recording_text.h"
#include "trace/replay.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

TEST(Recording, GivesTheHeaderBack) {
  RecordedRun run;
  run.header.options.duration = seconds(7);
  run.header.options.seed = 0xffffffffffffffff;
  run.header.options.goal.objective = Objective::latency;
  run.header.options.goal.latency = std::chrono::milliseconds(120);
  run.header.options.goal.arrivals_per_s = 30.1;
  run.header.options.goal.energy_weight = 0.3;
  run.header.options.goal.energy_j = 1.7;
  run.header.options.goal.objective_by_default = true;
  run.header.options.meter.confidence = 0.015;
  run.header.traits.power_averaging = std::chrono::milliseconds(430);
  run.header.traits.power_rounding_mw = 20;
  const std::vector<Profile> measured = parse_profiles(
      "device,workload,kind,batch_size,cpu_cores,minibatch_ms,power_w\n"
      "fake,lstm,train,16,4,12.25,20.5\nfake,lstm,train,16,2,20,15\n",
      "prior.csv");
  const Profile* const priors[] = {&measured.at(0)};
  run.header.options.prior = priors;
  run.header.knobs.knobs[1].follows_cores = true;
  run.run();
  RecordingReader reader(run.file);
  const RecordingHeader& read = reader.header();
  EXPECT_EQ(reader.end(), "complete");
  EXPECT_EQ(read.gearshift_version, "9.8.7");
  EXPECT_EQ(read.command, run.header.command);
  EXPECT_EQ(read.started_unix_ms, run.header.started_unix_ms);
  EXPECT_EQ(read.board.text, run.header.board.text);
  EXPECT_EQ(read.policy.name, "four.lua");
  EXPECT_EQ(read.policy.text, "return nil\n");
  ASSERT_EQ(read.priors.size(), 1U);
  EXPECT_EQ(read.priors[0].workload, "lstm");
  EXPECT_EQ(read.priors[0].cells(), measured[0].cells());
  EXPECT_EQ(read.limits, run.header.limits);
  EXPECT_EQ(read.options.duration, seconds(7));
  EXPECT_EQ(read.options.seed, 0xffffffffffffffff);
  EXPECT_EQ(read.options.goal, run.header.options.goal);
  EXPECT_EQ(read.options.meter.confidence, 0.015);
  EXPECT_EQ(read.options.most_measurements, run.header.options.most_measurements);
  EXPECT_EQ(read.traits.name, "fake");
  EXPECT_EQ(read.traits.modes, run.header.traits.modes);
  EXPECT_EQ(read.traits.safe, run.header.traits.safe);
  EXPECT_EQ(read.traits.stale_after, run.header.traits.stale_after);
  EXPECT_EQ(read.traits.power_averaging, std::chrono::milliseconds(430));
  EXPECT_EQ(read.traits.power_rounding_mw, 20);
  ASSERT_EQ(read.knobs.size(), 2U);
  EXPECT_EQ(read.knobs.knobs[1].values, run.header.knobs.knobs[1].values);
  EXPECT_EQ(read.knobs.knobs[0].knob_class, KnobClass::hotplug);
  EXPECT_TRUE(read.knobs.knobs[1].follows_cores) << "whatever its name";
}

TEST(Recording, OfATimeBeforeAKeyIsReadAsItWasThen) {
  RecordedRun run;
  run.run();
  change_file(run.file,
              "DELETE FROM metadata WHERE key IN ('energy_weight', 'reference_s', 'reference_j', "
              "'priced_power_mw', 'goal_energy_j', 'objective_by_default', "
              "'power_averaging_ns', 'power_rounding_mw')");
  RecordingReader reader(run.file);
  EXPECT_EQ(reader.header().options.goal, Goal{});
  EXPECT_EQ(reader.header().traits.power_averaging, Duration::zero()) << "a reading was no mean";
  ListPolicy policy(search_four);
  const ReplayResult result = Replay(reader).run(policy);
  EXPECT_FALSE(result.difference) << result.difference->replayed;
  EXPECT_GT(result.decisions, 0);
}

constexpr const char* kColumns1 =
    "tick, position, workload, kind, managed, pid, batch_size, batch_sizes, samples_per_epoch, "
    "name";
constexpr const char* kTypes1 =
    "tick INTEGER, position INTEGER, workload INTEGER, kind TEXT, managed INTEGER, pid INTEGER, "
    "batch_size INTEGER, batch_sizes TEXT, samples_per_epoch INTEGER, name TEXT";
// Leaves a table the columns that a format before had.
std::string as_before(const std::string& table, const std::string& columns,
                      const std::string& types) {
  return "CREATE TABLE before AS SELECT " + columns + " FROM " + table + "; DROP TABLE " + table +
         "; CREATE TABLE " + table + " (" + types + "); INSERT INTO " + table +
         " SELECT * FROM before; DROP TABLE before;";
}

void expect_replays(const std::filesystem::path& file) {
  RecordingReader reader(file);
  ListPolicy policy(search_four);
  const ReplayResult result = Replay(reader).run(policy);
  EXPECT_FALSE(result.difference) << result.difference->replayed;
  EXPECT_GT(result.decisions, 0);
}

TEST(Recording, OfAFormatBeforeIsReadAsItWasThen) {
  RecordedRun run;
  run.world.attach(seconds(2));
  run.run();
  change_file(run.file, as_before("knobs", "knob, name, unit, class",
                                  "knob INTEGER PRIMARY KEY, name TEXT, unit TEXT, class TEXT") +
                            "PRAGMA user_version = 6");
  expect_replays(run.file);
  const KnobSpace knobs = RecordingReader(run.file).header().knobs;
  EXPECT_TRUE(knobs.knobs[0].follows_cores) << knobs.knobs[0].name;
  EXPECT_FALSE(knobs.knobs[1].follows_cores) << knobs.knobs[1].name;
  change_file(run.file,
              as_before("limits", "tick, source, power_mw, planned_mw, ends_soon",
                        "tick INTEGER, source INTEGER, power_mw INTEGER, planned_mw INTEGER, "
                        "ends_soon INTEGER") +
                  "PRAGMA user_version = 5");
  expect_replays(run.file);
  change_file(run.file, "DROP TABLE script_stops; PRAGMA user_version = 4");
  expect_replays(run.file);
  change_file(run.file,
              as_before("knob_calls", "tick, call, action, outcome, knob, value, pid, kind, text",
                        "tick INTEGER, call INTEGER, action TEXT, outcome TEXT, knob INTEGER, "
                        "value INTEGER, pid INTEGER, kind TEXT, text TEXT") +
                  "PRAGMA user_version = 3");
  expect_replays(run.file);
  change_file(run.file, as_before("workloads", std::string(kColumns1) + ", latency_ns",
                                  std::string(kTypes1) + ", latency_ns INTEGER") +
                            as_before("limits", "tick, source, power_mw",
                                      "tick INTEGER, source INTEGER, power_mw INTEGER") +
                            "PRAGMA user_version = 2");
  expect_replays(run.file);
  change_file(run.file, "DROP TABLE requests; " + as_before("workloads", kColumns1, kTypes1) +
                            "PRAGMA user_version = 1");
  expect_replays(run.file);
  change_file(run.file, "PRAGMA user_version = 2");
  EXPECT_NE(error_of(run.file).find("table workloads is not as format 2"), std::string::npos);
}

// Behind a sensor that averages, decisions hang on when a knob was written.
TEST(Recording, KeepsWhenKnobsWereWritten) {
  RecordedRun run;
  run.hardware.writes_take = std::chrono::milliseconds(40);
  run.hardware.averaging = run.header.traits.power_window = run.header.traits.power_averaging =
      std::chrono::milliseconds(430);
  run.hardware.step_mw = 380;
  run.header.traits.power_rounding_mw = 190;
  run.operator_limit = OperatorLimit(21800);  // the fastest draws 22 W
  run.world.attach(seconds(2));
  run.run();
  expect_replays(run.file);
  change_file(run.file, "UPDATE knob_calls SET wrote_ns = NULL");
  RecordingReader reader(run.file);
  ListPolicy policy(search_four);
  EXPECT_TRUE(Replay(reader).run(policy).difference);
}

TEST(Recording, WithoutAKeyThatItAlwaysHadIsRefused) {
  RecordedRun run;
  run.run();
  change_file(run.file, "DELETE FROM metadata WHERE key = 'objective'");
  EXPECT_NE(error_of(run.file).find("metadata.objective is missing"), std::string::npos);
}

TEST(Recording, GivesEveryTickBack) {
  RecordedRun run;
  run.make_eventful();
  run.run();
  ASSERT_EQ(run.failure, "");
  RecordingReader reader(run.file);
  RecordedTick tick;
  std::size_t events = 0;
  std::size_t readings = 0;
  std::size_t notes = 0;
  const KeepingRecorder& kept = run.kept;
  while (reader.next(tick)) {
    const auto number = static_cast<std::size_t>(tick.number);
    ASSERT_EQ(tick.now, kept.times.at(number));
    ASSERT_EQ(tick.events.size(), kept.event_counts[number]);
    for (const Event& event : tick.events) {
      const Event& given = kept.events[events++];
      ASSERT_EQ(event.type, given.type);
      EXPECT_EQ(event.handle, given.handle);
      EXPECT_EQ(event.power_mw, given.power_mw);
      EXPECT_EQ(event.text.view(), given.text.view());
      EXPECT_EQ(event.minibatch.elapsed, given.minibatch.elapsed);
      EXPECT_EQ(event.minibatch.received, given.minibatch.received);
      EXPECT_EQ(event.minibatch.set_sequence, given.minibatch.set_sequence);
      EXPECT_EQ(event.workload.batch_sizes, given.workload.batch_sizes);
      EXPECT_EQ(event.workload.name.view(), given.workload.name.view());
      EXPECT_EQ(event.workload.latency, given.workload.latency);
      EXPECT_EQ(event.requests.workload, given.requests.workload);
      EXPECT_EQ(event.requests.sequence, given.requests.sequence);
      EXPECT_EQ(event.requests.set_sequence, given.requests.set_sequence);
      EXPECT_EQ(event.requests.span, given.requests.span);
      EXPECT_EQ(event.requests.arrived, given.requests.arrived);
      EXPECT_EQ(event.requests.served, given.requests.served);
      EXPECT_EQ(event.requests.late, given.requests.late);
      EXPECT_EQ(event.requests.refused, given.requests.refused);
      EXPECT_EQ(event.requests.queued, given.requests.queued);
      EXPECT_EQ(event.requests.latency_p50, given.requests.latency_p50);
      EXPECT_EQ(event.requests.latency_p95, given.requests.latency_p95);
      EXPECT_EQ(event.requests.latency_p99, given.requests.latency_p99);
      EXPECT_EQ(event.requests.latency_max, given.requests.latency_max);
      EXPECT_EQ(event.requests.received, given.requests.received);
    }
    ASSERT_EQ(tick.readings.size(), kept.reading_counts[number]);
    for (const Reading& reading : tick.readings) {
      const Reading& given = kept.readings[readings++];
      EXPECT_EQ(reading.value, given.value);
      EXPECT_EQ(reading.state, given.state);
      EXPECT_EQ(reading.taken, given.taken);
    }
    for (const RecordedNote& note : tick.notes) {
      const KeptNote& given = kept.notes.at(notes++);
      EXPECT_EQ(note.type, given.type);
      EXPECT_EQ(note.time, given.time);
      EXPECT_EQ(note.value, given.value);
      EXPECT_EQ(note.text, given.text);
      EXPECT_EQ(note.setting.value_or(Setting{}), given.setting);
      ASSERT_EQ(note.observation.has_value(), given.observation.has_value());
    }
  }
  EXPECT_EQ(events, kept.events.size());
  EXPECT_EQ(readings, kept.readings.size());
  EXPECT_EQ(notes, kept.notes.size());
}

// Each tick's rows are there up to some tick, and none after.
void expect_no_hole(const std::filesystem::path& file, const RecordedRun& run) {
  RecordingReader reader(file);
  RecordedTick tick;
  std::int64_t ticks = 0;
  for (; reader.next(tick); ++ticks) {
    const auto number = static_cast<std::size_t>(tick.number);
    EXPECT_EQ(tick.events.size(), run.kept.event_counts[number]);
    EXPECT_EQ(tick.readings.size(), run.kept.reading_counts[number]);
  }
  EXPECT_GT(ticks, 0);
  EXPECT_LT(ticks, static_cast<std::int64_t>(run.kept.times.size()));
}

TEST(Recording, EndsWhereTheQueueIsFullAndTheRunGoesOn) {
  RecordedRun run;
  run.make_eventful();
  run.options.queue_bytes = 8192;
  run.options.commit_period = std::chrono::hours(1);  // the disk is slow
  run.run();
  EXPECT_NE(run.failure.find("the queue of 8 KiB is full"), std::string::npos) << run.failure;
  EXPECT_GT(run.kept.times.size(), 890U);
  expect_no_hole(run.file, run);
  EXPECT_EQ(RecordingReader(run.file).end(), run.failure);
}

TEST(Recording, WaitsForTheDiskWhereNobodyIsHurt) {
  RecordedRun run;
  run.make_eventful();
  run.options.queue_bytes = 8192;
  run.options.commit_period = std::chrono::hours(1);
  run.options.when_full = WhenFull::wait;
  run.run();
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(error_of(run.file), "no error");
  EXPECT_EQ(RecordingReader(run.file).end(), "complete");
}

TEST(Recording, EndsAtItsLargestSizeAndStaysReadable) {
  RecordedRun run;
  run.make_eventful();
  run.options.most_bytes = 140 << 10;
  run.options.queue_bytes = 8192;
  run.options.when_full = WhenFull::wait;  // many small commits
  run.run();
  EXPECT_NE(run.failure.find("have reached the largest size"), std::string::npos) << run.failure;
  EXPECT_GT(run.kept.times.size(), 890U) << "the run goes on";
  expect_no_hole(run.file, run);
  EXPECT_EQ(RecordingReader(run.file).end(), run.failure);
  EXPECT_FALSE(std::filesystem::exists(run.file.string() + "-wal"));
}

TEST(Recording, EndsWhereItsFileWasRemovedAndTheRunGoesOn) {
  RecordedRun run;
  run.options.queue_bytes = 8192;
  run.options.when_full = WhenFull::wait;  // many small commits
  run.world.attach(seconds(1));
  run.world.at(seconds(30), [&run] { std::filesystem::remove(run.file); });
  run.run();
  EXPECT_EQ(run.failure, run.file.string() + " was removed");
  EXPECT_GT(run.kept.times.size(), 890U);
}

TEST(Recording, OfAFileThatWasMovedGoesOn) {
  RecordedRun run;
  const std::filesystem::path moved = run.folder.at("moved.db");
  run.world.attach(seconds(1));
  run.world.at(seconds(30), [&] { std::filesystem::rename(run.file, moved); });
  run.run();
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(RecordingReader(moved).end(), "complete");
}

TEST(Recording, CannotBeginOverAFileOrInNoFolder) {
  RecordedRun run;
  run.folder.put("run.db", "precious");
  EXPECT_THROW(run.run(), DatabaseError);
  EXPECT_EQ(run.folder.get("run.db"), "precious");
  run.file = run.folder.at("nowhere/run.db");
  EXPECT_THROW(run.run(), DatabaseError);
}

TEST(Recording, TakesNoMemoryInASteadyTick) {
  RecordedRun run;
  run.options.commit_period = std::chrono::hours(1);  // its thread sleeps
  run.policy = ListPolicy(
      [](const PolicyContext&, const std::vector<Observation>&) { return hold(mode(4, 900000)); });
  run.world.attach(seconds(2));
  std::size_t before = 0;
  std::size_t after = 0;
  run.world.at(seconds(60), [&] { before = allocations; });
  run.world.at(seconds(80), [&] { after = allocations; });
  run.schedule_limit = ScheduleLimit({});
  run.kept.reserve();
  run.run();
  EXPECT_EQ(run.failure, "");
  EXPECT_GT(before, 0U);
  EXPECT_EQ(after - before, 0U);
}

TEST(Recording, RefusesWhatIsNoneAndSaysWhy) {
  RecordedRun run;
  run.folder.put("text.db", "this is a letter, not a database, and it is long enough to be one");
  EXPECT_NE(error_of(run.folder.at("text.db")).find("text.db: file is not a database; a recording"),
            std::string::npos)
      << error_of(run.folder.at("text.db"));
  EXPECT_NE(error_of(run.folder.at("none.db")).find("none.db: no such file"), std::string::npos);
  change_file(run.folder.at("other.db"), "CREATE TABLE ticks (tick INTEGER)");
  EXPECT_NE(error_of(run.folder.at("other.db")).find("not a recording of gearshift"),
            std::string::npos);
}

TEST(Recording, NamesTheTableAndTheValueThatCannotBe) {
  const struct {
    const char* sql;
    const char* words;
  } cases[] = {
      {"PRAGMA user_version = 9", "format 9; this gearshift reads formats 1 to 7: use the newer"},
      {"DROP TABLE limits", "table limits is not as format 7 has it"},
      {"DELETE FROM metadata WHERE key = 'seed'", "metadata.seed is missing"},
      {"UPDATE metadata SET value = 0 WHERE key = 'period_ns'",
       "metadata.period_ns: must be above"},
      {"UPDATE metadata SET value = 'haste' WHERE key = 'objective'", "unknown objective 'haste'"},
      {"UPDATE metadata SET value = x'ffff0000' WHERE key = 'modes'", "metadata.modes: no mode"},
      {"UPDATE knobs SET unit = 'miles'", "knobs: row 0 is not a knob"},
      {"DELETE FROM knob_values WHERE knob = 1", "knob_values: gpu_mhz has none"},
      {"DELETE FROM ticks WHERE tick = 5", "ticks.tick: 5 is missing"},
      {"UPDATE ticks SET time_ns = 0 WHERE tick = 5", "ticks.time_ns: time goes back"},
      {"UPDATE readings SET quantity = 'mood' WHERE tick = 3", "readings.quantity: 'mood'"},
      {"UPDATE readings SET channel = 256 WHERE tick = 3", "readings.channel: 256 is not between"},
      {"UPDATE readings SET value = 1 << 62 WHERE tick = 3", "readings.value: 46116860"},
      {"UPDATE minibatches SET elapsed_ns = -1", "minibatches.elapsed_ns: -1 is not between 0"},
      {"UPDATE minibatches SET position = 99", "event 0 is missing or there twice"},
      {"UPDATE requests SET late = -1", "requests.late: -1 is not between 0"},
      {"UPDATE requests SET latency_p99_ns = 1 << 62", "requests.latency_p99_ns: 46116860"},
      {"UPDATE workloads SET latency_ns = -1", "workloads.latency_ns: -1 is not between 0"},
      {"UPDATE events SET type = 'requests'", "events.type: requests has a table of its own"},
      {"UPDATE workloads SET batch_sizes = '8,many'", "workloads.batch_sizes: 'many'"},
      {"UPDATE knob_calls SET knob = 2", "knob_calls.knob: 2 is not between 0 and 1"},
      {"UPDATE limits SET source = 7", "limits.source: 7 is not between 0 and 1"},
      {"UPDATE notes SET setting = 999 WHERE type = 'hold'", "notes.setting: 999 is not"},
      {"UPDATE notes SET type = 'prophecy'", "notes.type: 'prophecy' is unknown"},
      {"UPDATE settings SET knob_1 = NULL", "settings.knob_1: the board has 2 knobs"},
      {"UPDATE observations SET outcome = 'fine'", "observations.outcome: 'fine' is unknown"},
  };
  RecordedRun run;
  run.world.attach(seconds(2));
  run.report_requests(seconds(5));
  run.world.cap(seconds(6), 20000);
  run.run();
  const std::filesystem::path changed = run.folder.at("changed.db");
  for (const auto& [sql, words] : cases) {
    std::filesystem::copy_file(run.file, changed,
                               std::filesystem::copy_options::overwrite_existing);
    change_file(changed, sql);
    const std::string error = error_of(changed);
    EXPECT_NE(error.find(words), std::string::npos) << sql << "\n" << error;
    EXPECT_NE(error.find("changed.db: "), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace gearshift

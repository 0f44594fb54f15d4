// A run of the loop on fakes that is recorded into a file, for the tests of recordings.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "limits/operator_limit.h"
#include "limits/schedule_limit.h"
#include "tests/fakes/fake_world.h"
#include "tests/fakes/temp_tree.h"
#include "trace/recorded_inputs.h"
#include "trace/recording_reader.h"
#include "trace/recording_writer.h"

namespace gearshift::fakes {

// Measures four modes, and holds the fastest that fits.
inline Request search_four(const PolicyContext& context, const std::vector<Observation>& answers) {
  static const PowerMode kModes[] = {mode(2, 600000), mode(3, 600000), mode(4, 900000),
                                     mode(3, 900000)};
  if (answers.size() < std::size(kModes)) return measure(kModes[answers.size()]);
  const Observation* best = nullptr;
  for (const Observation& answer : answers) {
    const bool fits = answer.within(context.goal.power_mw.value_or(0));
    const bool faster = best == nullptr || answer.value(context.goal) < best->value(context.goal);
    if (fits && faster) best = &answer;
  }
  if (best == nullptr) return {};
  Request request;
  request.what = Request::What::hold;
  request.setting = best->setting;
  return request;
}

inline RecordingHeader fake_header(const Hardware& hardware) {
  RecordingHeader header;
  header.gearshift_version = "9.8.7";
  header.command = "gearshift run --record run.db";
  header.started_unix_ms = 1'700'000'000'123;
  header.board = {"boards/fake.toml", "id = \"fake\"\n"};
  header.knobs = hardware.space;
  header.traits = fake_traits();
  header.traits.modes = {mode(1, 300000), mode(4, 300000), mode(4, 900000)};
  header.traits.safe = mode(2, 300000);
  header.policy = {"four.lua", "return nil\n"};
  header.limits = {"operator", "schedule"};
  return header;
}

// What a writer is given, kept beside it.
class KeptAndWritten : public KeepingRecorder {
 public:
  explicit KeptAndWritten(RecordingWriter*& writer) : writer_(writer) {}
  void tick(const TickInputs& inputs) override {
    KeepingRecorder::tick(inputs);
    writer_->tick(inputs);
  }
  void note(const Note& note) override {
    KeepingRecorder::note(note);
    writer_->note(note);
  }
  void status(const Status& status) override {
    KeepingRecorder::status(status);
    writer_->status(status);
  }

 private:
  RecordingWriter*& writer_;
};

// Runs SQL on a file as sqlite3's own shell would.
inline void change_file(const std::filesystem::path& file, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  char* error = nullptr;
  sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error);
  EXPECT_EQ(error, nullptr) << error;
  sqlite3_free(error);
  sqlite3_close(database);
}

// What the reader says of a file that it cannot read to its end.
inline std::string error_of(const std::filesystem::path& file) {
  try {
    RecordingReader reader(file);
    RecordedTick tick;
    while (reader.next(tick)) continue;
  } catch (const RecordingError& error) {
    return error.what();
  }
  return "no error";
}

struct RecordedRun {
  Hardware hardware;
  FakeWorld world{hardware, std::chrono::seconds(90)};
  OperatorLimit operator_limit{25000};
  ScheduleLimit schedule_limit{{{std::chrono::seconds(70), 19000}}};
  LimitSource* second_limit = &schedule_limit;
  ListPolicy policy{search_four};
  RecordingHeader header = fake_header(hardware);
  RecordingOptions options;
  TempTree folder;
  std::filesystem::path file = folder.at("run.db");
  RecordingWriter* open = nullptr;  // while it runs
  KeptAndWritten kept{open};
  std::string failure;

  // A trainer that comes and goes, a server beside it, a cap that falls, rises and falls below
  // everything, power that jumps, readings that stop for a while, a knob that refuses, one that
  // another program moves, a new script, and a goal that changes.
  void make_eventful() {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    world.attach(seconds(2));
    world.cap(milliseconds(12340), 18000);
    world.cap(seconds(40), 30000);
    report_requests(milliseconds(30010));
    world.at(seconds(39), [this] { hardware.refuse = "gpu_mhz"; });
    world.at(seconds(42), [this] { hardware.refuse.clear(); });
    world.at(seconds(46), [this] { hardware.extra_mw = 20000; });
    world.at(seconds(47), [this] { hardware.extra_mw = 0; });
    world.at(seconds(50), [this] { hardware.frozen = true; });
    world.at(seconds(54), [this] { hardware.frozen = false; });
    world.at(seconds(58), [this] { hardware.values[1] = 300000; });
    world.at(seconds(60), [this] { world.script_text = "return 1"; });
    Event script;
    script.type = EventType::script_changed;
    world.at(milliseconds(60100), script);
    Event goal;
    goal.type = EventType::goal;
    goal.goal = {.objective = Objective::weighted, .energy_weight = 0.3};
    world.at(seconds(62), goal);
    goal.goal = {.energy_weight = 0.9};
    world.at(seconds(66), goal);
    world.detach(seconds(80));
    world.attach(seconds(82));
    world.cap(seconds(85), 12500);
  }

  // A server attaches and tells once how its requests fared.
  void report_requests(Duration from_start) {
    Event server;
    server.type = EventType::attached;
    server.handle = server.workload.handle = 77;
    server.workload.kind = Kind::infer;
    server.workload.batch_size = 4;
    server.workload.batch_sizes = {4};
    server.workload.batch_size_count = 1;
    server.workload.latency = std::chrono::milliseconds(100);
    server.workload.name = BoundedText<64>("server");
    world.at(from_start, server);
    Event event;
    event.type = EventType::requests;
    event.handle = 77;
    event.requests = {77,
                      3,
                      2,
                      Duration(500),
                      9,
                      8,
                      4,
                      1,
                      5,
                      Duration(10),
                      Duration(20),
                      Duration(30),
                      Duration(40),
                      Time(Duration(7))};
    world.at(from_start + std::chrono::milliseconds(400), event);
  }

  void run() {
    RecordingWriter writer(file, header, options);
    open = &writer;
    RecordedWorld recorded_world(world, writer);
    std::vector<std::unique_ptr<Sensor>> sensors;
    sensors.push_back(std::make_unique<FakeSensor>(hardware));
    Board board(recorded(std::make_unique<FakeActuator>(hardware), writer),
                recorded(std::move(sensors), writer), header.traits);
    RecordedLimit first(operator_limit, 0, writer);
    RecordedLimit second(*second_limit, 1, writer);
    LimitSource* limits[] = {&first, &second};
    Controller(recorded_world, board, policy, kept, limits, header.options).run();
    board.restore();
    writer.finish();
    failure = writer.failure();
  }
};

}  // namespace gearshift::fakes

// A recording of what a test says, for the tests of what is read from one.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "tests/trace/recorded_run.h"
#include "trace/recording_profile.h"
#include "trace/recording_reader.h"
#include "trace/recording_writer.h"

namespace gearshift::fakes {

// One tick a second.
struct Written {
  Written() { writer.emplace(file, fake_header(hardware)); }

  void attach(const Workload& workload) {
    Event event;
    event.type = EventType::attached;
    event.handle = workload.handle;
    event.workload = workload;
    tick(event);
  }
  void detach(WorkloadHandle handle) {
    Event event;
    event.type = EventType::detached;
    event.handle = handle;
    tick(event);
  }
  void drift() { tick({}, Note{.type = NoteType::drift, .text = "power"}); }
  // Its requests of the second before.
  void report(WorkloadHandle server) {
    Event event;
    event.type = EventType::requests;
    event.handle = event.requests.workload = server;
    event.requests.span = std::chrono::seconds(1);
    event.requests.arrived = event.requests.served = 60;
    tick(event);
  }
  // Of a trainer, over the second before.
  void observe(const PowerMode& mode, bool estimate = false) {
    observe(Kind::train, mode, estimate);
  }
  // Of a server.
  void observe_served(const PowerMode& mode) { observe(Kind::infer, mode, false); }
  void finish() {
    writer->finish();
    EXPECT_EQ(writer->failure(), "");
  }
  RecordedProfiles read() {
    finish();
    RecordingReader reader(file);
    return read_recorded_profiles(reader);
  }

  Hardware hardware;
  TempTree folder;
  std::filesystem::path file = folder.at("run.db");

 private:
  void observe(Kind kind, const PowerMode& mode, bool estimate) {
    Observation observation;
    observation.power_is_estimate = estimate;
    observation.setting = measure(mode).setting;
    observation.setting.batch_size = {0, 0};
    observation.setting.batch_size[index(kind)] = kind == Kind::train ? 16 : 4;
    observation.power_mean_mw = 15000;
    observation.cost[index(kind)].minibatches = 40;
    observation.cost[index(kind)].minibatch_mean = std::chrono::milliseconds(50);
    observation.duration = std::chrono::seconds(1);
    tick({}, Note{.type = NoteType::observation, .observation = &observation});
  }
  void tick(const std::optional<Event>& event, std::optional<Note> note = {}) {
    now += std::chrono::seconds(1);
    std::vector<Event> events;
    if (event) events.push_back(*event);
    writer->tick({.now = now, .events = events, .readings = {}});
    if (note) {
      note->time = now;
      writer->note(*note);
    }
    writer->status({});
  }

  std::optional<RecordingWriter> writer;
  Time now{};
};

}  // namespace gearshift::fakes

// The control endpoint and its client, over a real socket. Has a thread to play the other program
// in, which waits for its answer while the endpoint gives it.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "bridge/control_client.h"
#include "bridge/control_endpoint.h"
#include "tests/bridge/frames.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

KnobSpace orins_knobs() {
  KnobSpace space;
  space.knobs.push_back({"cpu_cores", Unit::count, KnobClass::hotplug, {4, 8, 12}});
  space.knobs.push_back({"gpu_mhz", Unit::khz, KnobClass::clock, {612'000, 1'300'500}});
  return space;
}

Status full_status() {
  Status status;
  status.phase = Phase::holding;
  status.power_known = true;
  status.power_is_estimate = true;
  status.power_mw = 24'513;
  status.cap_mw = 30'000;
  status.setting.mode.values[0] = 12;
  status.setting.mode.values[1] = 1'300'500;
  status.setting.mode.count = 2;
  status.setting.batch_size = {16, 0};
  status.setting.run = Run::train;
  status.minibatch = {milliseconds(62), Duration::zero()};
  status.workloads = 1;
  status.measurements = 9;
  status.repeats = 21;
  status.drifts = 2;
  status.requests.latency_p99 = std::chrono::milliseconds(120);
  status.requests.served = 20;
  status.requests.late = 3;
  status.requests.queued = 5;
  status.time = Time(seconds(100));
  status.battery = {.energy_wh = 4.5,
                    .capacity_wh = 10.0,
                    .voltage_v = 11.4,
                    .current_a = 1.2,
                    .taken = Time(seconds(55)),
                    .estimate = true};
  status.cap_source = decltype(status.cap_source)("operator");
  status.goal = {.objective = Objective::weighted,
                 .latency = milliseconds(100),
                 .arrivals_per_s = 40,
                 .energy_weight = 0.3,
                 .reference_s = 0.0025,
                 .reference_j = 0.055,
                 .priced_power_mw = 60'000,
                 .energy_j = 2,
                 .objective_by_default = true};
  return status;
}

class ControlTest : public testing::Test {
 protected:
  // Asks from a thread, as another program would, while the endpoint answers here.
  std::string ask(const std::function<void(ControlClient&)>& request) {
    std::string failure;
    std::thread program([&] {
      try {
        ControlClient client({endpoint, ""}, std::chrono::seconds(20));
        request(client);
      } catch (const std::exception& error) {
        failure = error.what();
      }
    });
    zmq::pollitem_t item{control.socket().handle(), 0, ZMQ_POLLIN, 0};
    zmq::poll(&item, 1, std::chrono::seconds(20));
    std::size_t budget = 16;
    control.drain(Time{}, budget, events);
    program.join();
    return failure;
  }
  // The answer to any bytes, over inproc.
  std::string answer_to(const std::string& frame) {
    zmq::context_t one(1);
    ControlEndpoint here(one, "inproc://control", {});
    zmq::socket_t client(one, zmq::socket_type::dealer);
    client.connect("inproc://control");
    client.send(zmq::const_buffer(frame.data(), frame.size()), zmq::send_flags::none);
    std::size_t budget = 16;
    here.drain(Time{}, budget, events);
    zmq::message_t answer;
    if (!client.recv(answer, zmq::recv_flags::dontwait)) return "";
    return answer.to_string();
  }
  static std::string code_of(const std::string& answer) {
    wire::DaemonMessage message;
    if (wire::decode(answer, message)) return "";
    const auto* error = std::get_if<wire::Error>(&message);
    return error != nullptr ? std::string(error->code.view()) : "";
  }

  const fakes::TempTree tree;
  const std::string endpoint = "ipc://" + tree.at("/control.ipc").string();
  zmq::context_t context{1};
  ControlEndpoint control{context, endpoint, orins_knobs()};
  EventBuffer events;
};

TEST_F(ControlTest, IsForItsUserOnly) {
  const auto mode = std::filesystem::status(tree.at("/control.ipc")).permissions();
  EXPECT_EQ(static_cast<unsigned>(mode), 0600u);
}

TEST_F(ControlTest, SetsAndLiftsTheCap) {
  EXPECT_EQ(ask([](ControlClient& client) { client.cap(20'000); }), "");
  EXPECT_EQ(ask([](ControlClient& client) { client.cap(0); }), "");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, EventType::cap);
  EXPECT_EQ(events[0].power_mw, 20'000);
  EXPECT_EQ(events[1].power_mw, 0);
}

// What binds after a change nobody knows before a tick has acted on it.
TEST_F(ControlTest, AnswersWhatFollowsAChangeAfterTheTick) {
  zmq::context_t one(1);
  ControlEndpoint here(one, "inproc://control", orins_knobs());
  zmq::socket_t client(one, zmq::socket_type::dealer);
  client.connect("inproc://control");
  wire::FrameBuffer frame;
  const auto send = [&](const auto& request) {
    wire::pack(frame, request);
    client.send(zmq::const_buffer(frame.view().data(), frame.view().size()));
  };
  send(wire::CapRequest{20'000});
  send(wire::StatusRequest{});
  std::size_t budget = 16;
  here.drain(Time{}, budget, events);
  zmq::message_t answer;
  ASSERT_TRUE(client.recv(answer, zmq::recv_flags::dontwait));
  EXPECT_NO_THROW(wire::decode_ok(answer.to_string_view()));
  EXPECT_FALSE(client.recv(answer, zmq::recv_flags::dontwait));
  here.publish(full_status());
  here.drain(Time{}, budget, events);
  ASSERT_TRUE(client.recv(answer, zmq::recv_flags::dontwait));
  EXPECT_EQ(wire::decode_status(answer.to_string_view()).cap_mw, 30'000);
}

TEST_F(ControlTest, ChangesTheGoal) {
  control.publish(full_status());
  EXPECT_EQ(ask([](ControlClient& client) { client.goal({.energy_weight = 0.25}); }), "");
  EXPECT_EQ(ask([](ControlClient& client) { client.goal({.objective = Objective::energy}); }), "");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, EventType::goal);
  EXPECT_EQ(events[0].goal, (GoalChange{.energy_weight = 0.25}));
  EXPECT_EQ(events[1].goal, (GoalChange{.objective = Objective::energy}));
}

// Two operators, or one who is faster than a tick.
TEST_F(ControlTest, JudgesAGoalByTheOneAcceptedBeforeIt) {
  control.publish(full_status());
  EXPECT_EQ(ask([](ControlClient& client) { client.goal({.objective = Objective::time}); }), "");
  const std::string weight =
      ask([](ControlClient& client) { client.goal({.energy_weight = 0.25}); });
  EXPECT_NE(weight.find("objective"), std::string::npos) << weight;
  EXPECT_EQ(ask([](ControlClient& client) { client.goal({.objective = Objective::weighted}); }),
            "");
  EXPECT_EQ(ask([](ControlClient& client) { client.goal({.energy_weight = 0.25}); }), "");
  EXPECT_EQ(events.size(), 3u);
}

TEST_F(ControlTest, RefusesAGoalThatLacksANumberAndOneThatCountsNothing) {
  const std::string latency =
      ask([](ControlClient& client) { client.goal({.objective = Objective::latency}); });
  EXPECT_NE(latency.find("rate"), std::string::npos) << latency;
  const std::string weight =
      ask([](ControlClient& client) { client.goal({.energy_weight = 0.25}); });
  EXPECT_NE(weight.find("objective"), std::string::npos) << weight;
  const std::string past = ask([](ControlClient& client) { client.goal({.energy_weight = 1.1}); });
  EXPECT_NE(past.find("energy_weight_ppm"), std::string::npos) << past;
  EXPECT_NE(ask([](ControlClient& client) { client.goal({}); }), "");
  EXPECT_TRUE(events.empty());
}

TEST_F(ControlTest, Stops) {
  EXPECT_EQ(ask([](ControlClient& client) { client.stop(); }), "");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::stop);
  EXPECT_EQ(events[0].signal, 0);
  EXPECT_EQ(events[0].text.view(), "stop command");
}

TEST_F(ControlTest, TellsItsStatus) {
  control.publish(full_status());
  wire::StatusAnswer status;
  ASSERT_EQ(ask([&](ControlClient& client) { status = client.status(); }), "");
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(status.phase, "holding");
  EXPECT_TRUE(status.power_known);
  EXPECT_TRUE(status.power_is_estimate);
  EXPECT_EQ(status.power_mw, 24'513);
  EXPECT_EQ(status.cap_mw, 30'000);
  EXPECT_EQ(status.cap_source, "operator");
  EXPECT_EQ(status.objective, "weighted");
  EXPECT_TRUE(status.objective_by_default);
  EXPECT_EQ(status.energy_weight_ppm, 300'000);
  EXPECT_EQ(status.reference_ns, 2'500'000);
  EXPECT_EQ(status.reference_uj, 55'000);
  EXPECT_EQ(status.priced_power_mw, 60'000);
  EXPECT_EQ(status.latency_ns, 100'000'000);
  EXPECT_EQ(status.energy_uj, 2'000'000);
  ASSERT_EQ(status.mode.size(), 2u);
  EXPECT_EQ(status.mode[0].first, "cpu_cores");
  EXPECT_DOUBLE_EQ(status.mode[0].second, 12);
  EXPECT_EQ(status.mode[1].first, "gpu_mhz");
  EXPECT_DOUBLE_EQ(status.mode[1].second, 1300.5);
  EXPECT_EQ(status.batch_size[0], 16);
  EXPECT_EQ(status.batch_size[1], 0);
  EXPECT_EQ(status.run, "train");
  EXPECT_EQ(status.minibatch_ns[0], 62'000'000);
  EXPECT_EQ(status.workloads, 1);
  EXPECT_EQ(status.measurements, 9);
  EXPECT_EQ(status.repeats, 21);
  EXPECT_EQ(status.drifts, 2);
  EXPECT_EQ(status.arrival_interval_ns, 25'000'000);
  EXPECT_EQ(status.latency_p99_ns, 120'000'000);
  EXPECT_EQ(status.requests_served, 20);
  EXPECT_EQ(status.requests_late, 3);
  EXPECT_EQ(status.requests_queued, 5);
  EXPECT_EQ(status.battery.energy_wh, 4.5);
  EXPECT_EQ(status.battery.current_a, 1.2);
  EXPECT_EQ(Duration(status.battery_age_ns), seconds(45));
  EXPECT_TRUE(status.battery.estimate);
  EXPECT_EQ(status.plan, "");
}

TEST_F(ControlTest, RefusesACapPastItsBounds) {
  const std::string failure = ask([](ControlClient& client) { client.cap(100'000'001); });
  EXPECT_NE(failure.find("power_mw"), std::string::npos) << failure;
  EXPECT_TRUE(events.empty());
}

TEST_F(ControlTest, AnswersEveryFaultWithItsCode) {
  EXPECT_EQ(code_of(answer_to("garbage")), "malformed");
  EXPECT_EQ(code_of(answer_to(frames::Map("launch").frame())), "unknown_type");
  EXPECT_EQ(code_of(answer_to(frames::packed(frames::hello()))), "unknown_type");
  EXPECT_EQ(code_of(answer_to(frames::Map("cap").with("power_mw", -1).frame())), "invalid");
  EXPECT_EQ(code_of(answer_to(frames::Map("goal").frame())), "invalid");
  EXPECT_EQ(code_of(answer_to(frames::Map("goal").with("objective", "speed").frame())), "invalid");
  EXPECT_EQ(code_of(answer_to(frames::Map("goal").with("energy_weight_ppm", 1000001).frame())),
            "invalid");
  EXPECT_EQ(code_of(answer_to(frames::Map("goal").with("energy_weight_ppm", 0.5).frame())),
            "invalid");
  EXPECT_TRUE(events.empty());
}

TEST_F(ControlTest, SaysHowToFindADaemonThatDoesNotAnswer) {
  ControlClient client({"ipc://" + tree.at("/nobody.ipc").string(), ""}, milliseconds(1));
  try {
    client.stop();
    FAIL();
  } catch (const UnreachableError& error) {
    EXPECT_NE(std::string(error.what()).find("nobody.ipc"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("--control"), std::string::npos);
  }
  EXPECT_THROW(ControlClient({"nowhere", ""}), std::invalid_argument);
  EXPECT_THROW(ControlClient({"ipc:///nobody", "none.key"}), std::invalid_argument)
      << "the key would say nothing";
}

// Who listens at the socket may be another than the daemon.
TEST(StatusAnswer, HasNothingThatATerminalObeys) {
  const std::string evil = "\x1b]0;pwn\a\x1b[31mRED\xc2\x9b\n\xffÜ";
  try {
    wire::decode_ok(frames::packed(wire::Error{wire::Text("other"), wire::MessageText(evil)}));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the daemon refused: ?]0;pwn??[31mRED??\n?Ü");
  }
  KnobSpace knobs = orins_knobs();
  knobs.knobs[0].name = evil;
  wire::FrameBuffer buffer;
  wire::pack(buffer, full_status(), knobs, evil, evil, {evil, 1, evil, 2});
  const wire::StatusAnswer status = wire::decode_status(buffer.view());
  for (const std::string& text : {status.mode.at(0).first, status.plan, status.heat,
                                  status.recording.file, status.recording.end}) {
    EXPECT_EQ(text, "?]0;pwn??[31mRED??\n?Ü");
  }
  try {
    wire::decode_ok(frames::Map(evil).frame());
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos) << error.what();
  }
}

TEST(StatusAnswer, TellsOfTheRecordingWithinAFrame) {
  KnobSpace knobs = orins_knobs();
  knobs.knobs.resize(kMaxKnobs, knobs.knobs[0]);
  const std::string text(5000, 'x');
  wire::FrameBuffer buffer;
  wire::pack(buffer, full_status(), knobs, text, text,
             {text + "day.db", 4'000'000'000, text, 1'795'930'157'500});
  EXPECT_LE(buffer.view().size(), wire::kMaxFrameBytes);
  const RecordingState recording = wire::decode_status(buffer.view()).recording;
  EXPECT_EQ(recording.file, std::string(wire::kMaxMessageBytes - 6, 'x') + "day.db");
  EXPECT_EQ(recording.bytes, 4'000'000'000);
  EXPECT_EQ(recording.end, text.substr(0, wire::kMaxMessageBytes));
  EXPECT_EQ(recording.ended_unix_ms, 1'795'930'157'500);
  wire::pack(buffer, full_status(), knobs);
  EXPECT_EQ(wire::decode_status(buffer.view()).recording.file, "") << "nothing is recorded";
}

TEST(StatusAnswer, IsBoundedForAnyBytes) {
  using std::string_literals::operator""s;
  for (const std::string& frame :
       {""s, "\x05"s, "\xdf\xff\xff\xff\xff"s, "\xdd\xff\xff\xff\xff"s,
        "\x81\xa4type\xdb\xff\xff\xff\xff"s, "\x81\xa4type\xa6status"s, "\x81\xa4type\x05"s,
        "\x81\x01\x02"s, std::string(5000, 'a'), std::string(1000, '\x91')}) {
    EXPECT_THROW(wire::decode_status(frame), std::runtime_error);
    EXPECT_THROW(wire::decode_ok(frame), std::runtime_error);
  }
}

}  // namespace
}  // namespace gearshift

// What the C++ client takes from a daemon that is none, or is broken.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "tests/bridge/client_fixture.h"

namespace gearshift {
namespace {

using client::detail::Messages;
using client::detail::signs_of_life;
using std::chrono::milliseconds;
using std::chrono::seconds;

class HostileDaemon : public ClientTest {
 protected:
  static frames::Map welcome_of(std::int64_t heartbeat_ns, std::int64_t silent_after_ns) {
    frames::Map map("welcome");
    map.with("managed", true).with("heartbeat_ns", heartbeat_ns);
    map.with("silent_after_ns", silent_after_ns);
    return map;
  }
  // Returns once the client has taken all that was sent before.
  void settle(client::Workload& workload) {
    const std::string text = "barrier " + std::to_string(++barriers_);
    send(wire::Error{wire::Text("other"), wire::MessageText(text)});
    await([&] { return workload.take_message() == "other: " + text; }, workload);
  }
  bool is_quiet_for(milliseconds time) {
    zmq::pollitem_t item{daemon.handle(), 0, ZMQ_POLLIN, 0};
    return zmq::poll(&item, 1, time) == 0;
  }

 private:
  int barriers_ = 0;
};

TEST(SignsOfLife, AreNeverAFloodAndNeverTooSeldom) {
  const auto signs = [](std::int64_t heartbeat_ns, std::int64_t silent_after_ns) {
    client::detail::Incoming message;
    message.heartbeat_ns = heartbeat_ns;
    message.silent_after_ns = silent_after_ns;
    return signs_of_life(message);
  };
  const auto usual = signs(1'000'000'000, 5'000'000'000);
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->heartbeat, seconds(1));
  EXPECT_EQ(usual->silent_after, seconds(5));
  EXPECT_EQ(signs(1, 1)->heartbeat, milliseconds(10));
  EXPECT_EQ(signs(1, 1)->silent_after, milliseconds(100));
  constexpr std::int64_t kHour = 3'600'000'000'000;
  EXPECT_EQ(signs(kHour, kHour)->heartbeat, seconds(10));
  EXPECT_EQ(signs(kHour, kHour)->silent_after, seconds(60));
  EXPECT_FALSE(signs(1, kHour + 1));
  EXPECT_FALSE(signs(0, kHour));
  EXPECT_FALSE(signs(std::numeric_limits<std::int64_t>::max(), 1));
}

TEST_F(HostileDaemon, AttachesNobodyByAWelcomeWithoutItsTimes) {
  client::Workload workload(options());
  receive<wire::Hello>();
  send_bytes(frames::Map("welcome").with("managed", true).frame());
  send_bytes(welcome_of(1, std::numeric_limits<std::int64_t>::max()).frame());
  settle(workload);
  EXPECT_FALSE(workload.attached());
  send_bytes(welcome_of(1'000'000'000, 60'000'000'000).frame());
  await([&] { return workload.attached(); }, workload);
}

TEST_F(HostileDaemon, IsSaidHelloToOnceASecondWhateverItAnswersReports) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Error{wire::Text("unknown_client"), wire::MessageText("say hello first")});
  await([&] { return !workload.attached(); }, workload);
  workload.poll();
  EXPECT_TRUE(is_quiet_for(milliseconds(200)));
  receive<wire::Hello>();
}

TEST_F(HostileDaemon, SendsNothingThatATerminalObeys) {
  client::Workload workload(options());
  welcome(workload);
  const std::string text = "a\x1b[2J\u009b" + std::string(300, 'm');
  send_bytes(frames::Map("error").with("code", "x\ny").with("message", text).frame());
  std::string told;
  await([&] { return !(told = workload.take_message()).empty(); }, workload);
  EXPECT_EQ(told, "x y: a [2J  " + std::string(256 - 7, 'm'));
}

TEST_F(HostileDaemon, AsksForNothingBeyondItsBounds) {
  client::Workload workload(options());
  welcome(workload);
  const auto set = [](std::int64_t number, std::int64_t batch_size, const char* run) {
    frames::Map map("set");
    map.with("set", number).with("batch_size", batch_size).with("run", run);
    return map.frame();
  };
  send_bytes(set(1, 32, "never"));
  send_bytes(set(0, 32, "both"));
  send_bytes(set(4'294'967'296, 32, "both"));
  send_bytes(set(1, 0, "both"));
  settle(workload);
  EXPECT_FALSE(workload.poll());
  send_bytes(set(5, 32, "both"));
  await([&] { return workload.poll(); }, workload);
  send_bytes(set(4, 8, "both"));
  send_bytes(set(5, 8, "both"));
  settle(workload);
  EXPECT_FALSE(workload.poll()) << "its numbers rise";
  minibatch(workload);
  receive<wire::Report>();  // and none was refused
}

TEST_F(HostileDaemon, SaysNothingInSeveralFrames) {
  client::Workload workload(options());
  welcome(workload);
  wire::Set set{1, 32, Run::both};
  const std::string frame = frames::packed(set);
  daemon.send(zmq::const_buffer(identity.data(), identity.size()), zmq::send_flags::sndmore);
  for (int i = 0; i < 3; ++i) {
    daemon.send(zmq::const_buffer(frame.data(), frame.size()),
                i < 2 ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
  settle(workload);
  EXPECT_FALSE(workload.poll());
  send(set);
  await([&] { return workload.poll(); }, workload);
}

TEST(Messages, AreToldOnceInTheirOrder) {
  Messages messages;
  EXPECT_EQ(messages.take(), "");
  for (const char* const text : {"a", "", "b", "a"}) messages.tell(text);
  EXPECT_EQ(messages.take(), "a");
  EXPECT_EQ(messages.take(), "b");
  messages.tell("a");
  EXPECT_EQ(messages.take(), "");
  for (int i = 0; i < 1000; ++i) messages.tell(std::to_string(i));
  std::size_t told = 2;
  while (!messages.take().empty()) ++told;
  EXPECT_EQ(told, Messages::kMostTexts);
}

TEST_F(HostileDaemon, LeavesWhatWasToldBeforeIt) {
  client::Workload workload(options());
  workload.tell("what the environment says is wrong");
  welcome(workload);
  send(wire::Error{wire::Text("invalid"), wire::MessageText("epoch")});
  send(wire::Error{wire::Text("too_many"), wire::MessageText("ask again")});
  send(wire::Error{wire::Text("invalid"), wire::MessageText("epoch")});
  send(wire::Set{1, 32, Run::both});
  await([&] { return workload.poll(); }, workload);
  EXPECT_EQ(workload.take_message(), "what the environment says is wrong");
  EXPECT_EQ(workload.take_message(), "invalid: epoch");
  EXPECT_EQ(workload.take_message(), "too_many: ask again");
  EXPECT_EQ(workload.take_message(), "");
}

}  // namespace
}  // namespace gearshift

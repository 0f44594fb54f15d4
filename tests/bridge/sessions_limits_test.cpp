#include <gtest/gtest.h>

#include <string>

#include "tests/bridge/sessions_fixture.h"

namespace gearshift {
namespace {

using frames::hello;
using frames::report;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(SessionsTest, RefusesAnotherVersion) {
  wire::Hello message = hello();
  message.version = 2;
  receive("a", message);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(peers.last_error("a"), "version");
  EXPECT_FALSE(peers.last<wire::Welcome>("a"));
}

TEST_F(SessionsTest, AnswersAnUnknownTypeOnceASecond) {
  attach("a");
  for (int i = 0; i < 10; ++i) receive_bytes("a", frames::Map("launch").frame());
  EXPECT_EQ(peers.last_error("a"), "unknown_type");
  EXPECT_EQ(peers.count<wire::Error>("a"), 1);
  now += seconds(1);
  receive_bytes("a", frames::Map("launch").frame());
  EXPECT_EQ(peers.count<wire::Error>("a"), 2);
  EXPECT_EQ(sessions.counters().faults, 11u);
}

TEST_F(SessionsTest, AnswersABoundedNumberOfStrangers) {
  for (int i = 0; i < 1000; ++i) receive(std::to_string(i), report(1));
  EXPECT_EQ(peers.sent.size(), 64u);
  now += seconds(1);
  receive("z", report(1));
  EXPECT_EQ(peers.last_error("z"), "unknown_client");
}

TEST_F(SessionsTest, AttachesSixteenAtMost) {
  for (std::size_t i = 0; i < kMaxSessions; ++i) {
    now += seconds(1);
    const std::string identity = std::to_string(i);
    receive(identity, hello());
    EXPECT_TRUE(peers.last<wire::Welcome>(identity)) << i;
  }
  now += seconds(1);
  receive("z", hello());
  EXPECT_EQ(peers.last_error("z"), "too_many");
  EXPECT_EQ(count(EventType::attached), static_cast<int>(kMaxSessions));
  receive("0", wire::Bye{});
  now += seconds(1);
  receive("z", hello());
  EXPECT_TRUE(peers.last<wire::Welcome>("z"));
}

// Else a client with the right to report alone could keep every trainer from being managed.
TEST_F(SessionsTest, WhoIsObservedTakesNoPlaceFromWhoIsManaged) {
  for (std::size_t i = 0; i < kMaxSessions; ++i) {
    now += seconds(1);
    receive(std::to_string(i), hello());
  }
  now += seconds(1);
  events.clear();
  peers.clear();
  receive("server", hello(Kind::infer));
  ASSERT_TRUE(peers.last<wire::Welcome>("server"));
  EXPECT_TRUE(peers.last<wire::Welcome>("server")->managed);
  EXPECT_EQ(peers.last_error("15"), "unknown_client") << "the newest of those observed";
  ASSERT_EQ(count(EventType::detached), 1);
  EXPECT_EQ(events[0].text.view(), "its place was needed");
  now += seconds(1);
  receive("15", hello());
  EXPECT_EQ(peers.last_error("15"), "too_many");
}

TEST_F(SessionsTest, BoundsHowOftenAttachmentsAreMade) {
  const auto come_and_go = [this](int i) {
    receive(std::to_string(i), hello());
    receive(std::to_string(i), wire::Bye{});
  };
  for (int i = 0; i < 100; ++i) come_and_go(i);
  EXPECT_EQ(count(EventType::attached), 16);
  EXPECT_EQ(peers.last_error("16"), "too_many");
  now += milliseconds(250);
  come_and_go(100);
  come_and_go(101);
  EXPECT_EQ(count(EventType::attached), 17);
}

TEST_F(SessionsTest, HellosOfOneThatIsAttachedLeaveTheOthersTheirs) {
  for (int i = 0; i < 100; ++i) receive("a", hello());
  EXPECT_EQ(count(EventType::attached), 5) << "its first, and a burst of four";
  EXPECT_EQ(peers.last_error("a"), "too_many");
  receive("b", hello(Kind::infer));
  ASSERT_TRUE(peers.last<wire::Welcome>("b"));
  now += seconds(1);
  receive("a", hello());
  receive("a", hello());
  EXPECT_EQ(count(EventType::attached), 7);
}

// A trainer of minibatches of a tenth of a millisecond sends more than that, and the loop waits for
// what it says of its command.
TEST_F(SessionsTest, TakesWhatAnswersACommandHoweverMuchWasSent) {
  const auto flood = [this] {
    for (std::uint64_t i = 1; i <= 600; ++i) receive("a", report(i));
    events.clear();
    EXPECT_FALSE(sessions.receive("a", frames::packed(report(601)), now, events));
    EXPECT_TRUE(events.empty());
  };
  wire::Hello saving = hello();
  saving.saves = true;
  receive("a", saving);
  const WorkloadHandle handle = events.at(0).handle;
  flood();
  sessions.command(handle, {.sequence = 1, .batch_size = 16, .run = Run::both});
  for (int i = 0; i < 3; ++i) receive("a", wire::Applied{1, 16, Run::both});
  EXPECT_EQ(count(EventType::applied), 1) << "each acts once";
  sessions.command(handle, {.sequence = 2, .batch_size = 16, .run = Run::both});
  receive("a", wire::Refused{2, wire::Text("memory"), wire::MessageText("no room")});
  EXPECT_EQ(count(EventType::refused), 1);
  const WorkloadCommand save{.sequence = 3, .type = CommandType::checkpoint, .within = seconds(30)};
  sessions.command(handle, save);
  receive("a", wire::Unsaved{3, wire::MessageText("disk full")});
  EXPECT_EQ(count(EventType::unsaved), 1);
  WorkloadCommand again = save;
  again.sequence = 4;
  sessions.command(handle, again);
  for (int i = 0; i < 3; ++i) receive("a", wire::Saved{4, milliseconds(1)});
  EXPECT_EQ(count(EventType::saved), 1);
  for (int i = 0; i < 3; ++i) receive("a", wire::Bye{});
  EXPECT_EQ(count(EventType::detached), 1);
  EXPECT_EQ(peers.count<wire::Error>("a"), 1) << "too_many, once";
}

class HandlesTest : public SessionsTest {
 protected:
  // The handle of who attaches after so many attachments; 0: refused.
  WorkloadHandle attach_after(WorkloadHandle handles) {
    Sessions later{peers, pretended_process, {.allowed_user = kUser, .last_handle = handles}};
    events.clear();
    later.receive("a", frames::packed(hello()), now, events);
    const auto welcome = peers.last<wire::Welcome>("a");
    if (count(EventType::attached) == 0 || !welcome) return 0;
    EXPECT_EQ(events.front().workload.handle, welcome->workload);
    WorkloadCommand set;
    set.sequence = 1;
    set.batch_size = 16;
    later.command(welcome->workload, set);
    EXPECT_TRUE(peers.last<wire::Set>("a"));
    return welcome->workload;
  }
};

// A client that attaches each second has made 65,535 attachments in 18 hours.
TEST_F(HandlesTest, GoOnPast65535) {
  EXPECT_EQ(attach_after(65534), 65535u);
  EXPECT_EQ(attach_after(65535), 65536u);
}

TEST_F(HandlesTest, AreNeverUsedTwice) {
  EXPECT_EQ(attach_after(4294967294), 4294967295u);
  EXPECT_EQ(attach_after(4294967295), 0u);
  EXPECT_EQ(peers.last_error("a"), "too_many");
}

}  // namespace
}  // namespace gearshift

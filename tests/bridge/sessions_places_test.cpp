// A managed workload that reports nothing gives way to one of its kind that does.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/bridge/sessions_fixture.h"

namespace gearshift {
namespace {

using frames::report;
using std::chrono::minutes;
using std::chrono::seconds;

class SessionsPlaces : public SessionsTest {
 protected:
  // Both send heartbeats, and who is in `reports` a report a second.
  void pass(Duration duration, std::initializer_list<std::string> reports) {
    for (const Time end = now + duration; now < end;) {
      advance(seconds(1));
      for (const char* const identity : {"a", "b"}) receive(identity, wire::Heartbeat{});
      for (const std::string& identity : reports) receive(identity, report(++sequence_));
    }
  }
  std::string managed() const {
    const auto a = peers.last<wire::Welcome>("a");
    const auto b = peers.last<wire::Welcome>("b");
    return std::string(a && a->managed ? "a" : "") + (b && b->managed ? "b" : "");
  }

  std::uint64_t sequence_ = 0;
};

// It may run a program of root's by then, or have ended, and a service have its number.
TEST_F(SessionsPlaces, WhoFollowsIsManagedWithoutAProcessThatIsAnothersByThen) {
  const std::optional<ProcessIdentity> at_hello = trainer;
  const auto believed = [&](std::optional<ProcessIdentity> later) {
    trainer = at_hello;
    receive("a", frames::hello());
    receive("b", frames::hello());
    events.clear();
    trainer = later;
    receive("a", wire::Bye{});
    EXPECT_TRUE(events.back().workload.managed);
    const bool told = events.at(1).text.view().find("process 4242") != std::string_view::npos;
    EXPECT_EQ(told, later != at_hello) << events.at(1).text.view();
    const std::int32_t pid = events.back().workload.pid;
    receive("b", wire::Bye{});
    peers.clear();
    advance(seconds(10));  // so that more hellos may come
    return pid;
  };
  EXPECT_EQ(believed(at_hello), 4242);
  EXPECT_EQ(believed(ProcessIdentity{0, at_hello->started}), 0);
  EXPECT_EQ(believed(ProcessIdentity{kUser, at_hello->started + 1}), 0);
  EXPECT_EQ(believed(std::nullopt), 0);
}

// A cell of a notebook is run again: the client of the first run is left behind.
TEST_F(SessionsPlaces, WhoFallsSilentGivesWayAndIsObservedFromThenOn) {
  receive("a", frames::hello());
  pass(seconds(5), {"a"});
  receive("b", frames::hello());
  const WorkloadHandle observed = peers.last<wire::Welcome>("b")->workload;
  pass(seconds(58), {"b"});
  EXPECT_EQ(managed(), "a");
  events.clear();
  pass(seconds(4), {"b"});
  EXPECT_EQ(managed(), "b");
  EXPECT_NE(peers.last<wire::Welcome>("b")->workload, observed);
  ASSERT_EQ(count(EventType::detached), 2);
  ASSERT_EQ(count(EventType::attached), 2);
  const auto told = std::find_if(events.begin(), events.end(), [](const Event& event) {
    return event.type == EventType::detached;
  });
  EXPECT_EQ(told->text.view(), "silent, while another of its kind reports");
  pass(minutes(10), {"a", "b"});
  EXPECT_EQ(managed(), "b");
}

TEST_F(SessionsPlaces, WhoHasNeverReportedIsWaitedForLonger) {
  receive("a", frames::hello());
  receive("b", frames::hello());
  pass(seconds(149), {"b"});
  EXPECT_EQ(managed(), "a");
  pass(seconds(3), {"b"});
  EXPECT_EQ(managed(), "b");
}

TEST_F(SessionsPlaces, WhoReportsKeepsItsPlaceAndSoDoesWhoIsAlone) {
  receive("a", frames::hello());
  receive("b", frames::hello());
  pass(minutes(5), {"a", "b"});
  EXPECT_EQ(managed(), "a");
  pass(minutes(5), {});
  EXPECT_EQ(managed(), "a");
}

TEST_F(SessionsPlaces, WhoWasToldToWaitKeepsItsPlace) {
  const WorkloadHandle handle = [this] {
    receive("a", frames::hello());
    return peers.last<wire::Welcome>("a")->workload;
  }();
  receive("b", frames::hello());
  pass(seconds(5), {"a"});
  sessions.command(handle, {1, 16, Run::infer});
  pass(minutes(5), {"b"});
  EXPECT_EQ(managed(), "a");
  sessions.command(handle, {2, 16, Run::both});
  pass(seconds(58), {"b"});
  EXPECT_EQ(managed(), "a");
  pass(seconds(4), {"b"});
  EXPECT_EQ(managed(), "b");
}

TEST_F(SessionsPlaces, WhoseKeyAllowsReportsAloneTakesNoPlace) {
  receive("a", frames::hello());
  pass(seconds(5), {"a"});
  const Caller reporter{"drone7", {Right::report}, true, false};
  sessions.receive("c", frames::packed(frames::hello()), now, events, reporter);
  for (std::uint64_t i = 1; i < 100; ++i) {
    pass(seconds(1), {});
    sessions.receive("c", frames::packed(report(i)), now, events, reporter);
  }
  EXPECT_EQ(managed(), "a");
}

}  // namespace
}  // namespace gearshift

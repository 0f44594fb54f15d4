#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "tests/bridge/sessions_fixture.h"

namespace gearshift {
namespace {

using frames::hello;
using frames::report;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST_F(SessionsTest, AttachesAWorkloadAndWelcomesIt) {
  receive("a", hello());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::attached);
  const Workload& workload = events[0].workload;
  EXPECT_EQ(events[0].handle, workload.handle);
  EXPECT_NE(workload.handle, 0);
  EXPECT_TRUE(workload.managed);
  EXPECT_EQ(workload.pid, 4242);
  EXPECT_EQ(workload.name.view(), "lenet");
  EXPECT_EQ(workload.batch_size, 16);
  EXPECT_EQ(workload.batch_size_count, 3);
  EXPECT_EQ(workload.samples_per_epoch, 1437);
  const auto welcome = peers.last<wire::Welcome>("a");
  ASSERT_TRUE(welcome);
  EXPECT_TRUE(welcome->managed);
  EXPECT_EQ(welcome->workload, workload.handle);
  EXPECT_EQ(welcome->heartbeat, seconds(1));
  EXPECT_EQ(welcome->silent_after, seconds(5));
}

TEST_F(SessionsTest, BelievesOnlyThePidsOfItsUser) {
  const auto believed = [this](const std::string& identity, std::int32_t pid) {
    wire::Hello message = hello();
    message.pid = pid;
    receive(identity, message);
    return events.back().workload.pid;
  };
  EXPECT_EQ(believed("a", 4242), 4242);
  EXPECT_EQ(believed("b", 1), 0);     // another user's
  EXPECT_EQ(believed("c", 4243), 0);  // nobody's
  EXPECT_EQ(believed("d", 0), 0);
}

TEST_F(SessionsTest, TurnsAReportIntoAnEvent) {
  const WorkloadHandle handle = attach("a", Kind::infer);
  now += milliseconds(3);
  receive("a", report(7));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::minibatch);
  EXPECT_EQ(events[0].handle, handle);
  const Minibatch& minibatch = events[0].minibatch;
  EXPECT_EQ(minibatch.workload, handle);
  EXPECT_EQ(minibatch.kind, Kind::infer);
  EXPECT_EQ(minibatch.sequence, 7u);
  EXPECT_EQ(minibatch.batch_size, 16);
  EXPECT_EQ(minibatch.elapsed, milliseconds(4) + nanoseconds(500'000));
  EXPECT_EQ(minibatch.fetch_stall, nanoseconds(200'000));
  EXPECT_EQ(minibatch.compute, nanoseconds(4'100'000));
  EXPECT_EQ(minibatch.received, now);
  EXPECT_EQ(sessions.counters().reports, 1u);
  EXPECT_TRUE(peers.sent.empty());  // never answered
}

TEST_F(SessionsTest, TellsWhatAHelloSaysOfItsRequests) {
  wire::Hello server = hello(Kind::infer);
  server.latency = milliseconds(100);
  receive("a", server);
  EXPECT_EQ(events[0].workload.latency, milliseconds(100));
}

TEST_F(SessionsTest, TurnsAReportOfRequestsIntoAnEvent) {
  const WorkloadHandle handle = attach("a", Kind::infer);
  now += milliseconds(3);
  const wire::Requests sent = frames::requests(7);
  receive("a", sent);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::requests);
  EXPECT_EQ(events[0].handle, handle);
  const RequestReport& report = events[0].requests;
  EXPECT_EQ(report.workload, handle);
  EXPECT_EQ(report.sequence, 7u);
  EXPECT_EQ(report.set_sequence, 0u);
  EXPECT_EQ(report.span, milliseconds(500));
  EXPECT_EQ(report.arrived, 31u);
  EXPECT_EQ(report.served, 30u);
  EXPECT_EQ(report.late, 1u);
  EXPECT_EQ(report.refused, 0u);
  EXPECT_EQ(report.queued, 3u);
  EXPECT_EQ(report.latency_p50, milliseconds(41));
  EXPECT_EQ(report.latency_p95, milliseconds(78));
  EXPECT_EQ(report.latency_p99, milliseconds(95));
  EXPECT_EQ(report.latency_max, milliseconds(101));
  EXPECT_EQ(report.received, now);
  EXPECT_TRUE(peers.sent.empty());  // never answered
}

TEST_F(SessionsTest, DropsReportsOfRequestsThatCannotBe) {
  attach("trainer");
  receive("trainer", frames::requests(1));
  EXPECT_EQ(peers.last_error("trainer"), "invalid");
  attach("a", Kind::infer);
  for (const std::uint64_t sequence : {5, 5, 4}) receive("a", frames::requests(sequence));
  wire::Requests early = frames::requests(6);
  early.set = 1;
  receive("a", early);
  EXPECT_EQ(count(EventType::requests), 1);
  EXPECT_EQ(sessions.counters().dropped, 4u);
  EXPECT_EQ(peers.last_error("a"), "invalid");
  receive("a", frames::requests(6));  // its number was not used up
  EXPECT_EQ(count(EventType::requests), 2);
}

// Each one ends the loop's wait.
TEST_F(SessionsTest, TakesTwentyReportsOfRequestsASecond) {
  attach("a", Kind::infer);
  std::uint64_t sequence = 0;
  for (int millisecond = 0; millisecond < 10'000; ++millisecond, now += milliseconds(1)) {
    receive("a", frames::requests(++sequence));
  }
  EXPECT_GE(count(EventType::requests), 199);
  EXPECT_LE(count(EventType::requests), 208);
  EXPECT_TRUE(peers.sent.empty());
}

TEST_F(SessionsTest, DropsReportsThatComeTwiceOrGoBack) {
  attach("a");
  for (const std::uint64_t sequence : {5, 5, 4, 6}) receive("a", report(sequence));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].minibatch.sequence, 6u);
  EXPECT_EQ(sessions.counters().dropped, 2u);
  EXPECT_EQ(peers.last_error("a"), "invalid");
  EXPECT_EQ(peers.count<wire::Error>("a"), 1);  // one a second
}

TEST_F(SessionsTest, SaysOnceThatNoMinibatchHasASizeThatWasOffered) {
  attach("a");
  std::uint64_t sequence = 0;
  const auto report_of = [&](std::int32_t batch_size, int times) {
    for (int i = 0; i < times; ++i, now += seconds(1)) {
      wire::Report minibatch = report(++sequence);
      minibatch.batch_size = batch_size;
      receive("a", minibatch);
    }
  };
  report_of(3, 9);
  report_of(16, 1);
  report_of(3, 9);
  EXPECT_EQ(peers.count<wire::Error>("a"), 0) << "some of them are measured";
  report_of(3, 100);
  EXPECT_EQ(peers.last_error("a"), "invalid");
  EXPECT_EQ(peers.count<wire::Error>("a"), 1);
  EXPECT_EQ(count(EventType::minibatch), 1);
}

TEST_F(SessionsTest, DropsASmallerLastMinibatchWithoutAnError) {
  attach("a");
  wire::Report last = report(1);
  last.batch_size = 13;
  receive("a", last);
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(peers.sent.empty());
  EXPECT_EQ(sessions.counters().dropped, 1u);
  receive("a", report(1));  // its number is used up
  EXPECT_TRUE(events.empty());
}

TEST_F(SessionsTest, TakesAPartOfABatchOfRequestsAndNothingLargerThanAllSizes) {
  const wire::Hello server = hello(Kind::infer);
  receive("a", server);
  events.clear();
  peers.sent.clear();
  wire::Report part = report(1);
  part.batch_size = server.batch_sizes[server.batch_size_count - 1] - 1;
  receive("a", part);
  EXPECT_EQ(count(EventType::minibatch), 1);
  part.sequence = 2;
  part.batch_size += 2;
  receive("a", part);
  EXPECT_EQ(count(EventType::minibatch), 1);
  EXPECT_TRUE(peers.sent.empty());
}

TEST_F(SessionsTest, DropsReportsOfACommandThatWasNeverGiven) {
  const WorkloadHandle handle = attach("a");
  wire::Report early = report(1);
  early.set = 1;
  receive("a", early);
  EXPECT_TRUE(events.empty());
  sessions.command(handle, {1, 32, Run::both});
  receive("a", early);
  EXPECT_EQ(count(EventType::minibatch), 1);
}

TEST_F(SessionsTest, CarriesCommandsAndTheirAnswers) {
  const WorkloadHandle handle = attach("a");
  sessions.command(handle, {3, 32, Run::infer});
  const auto set = peers.last<wire::Set>("a");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->set, 3u);
  EXPECT_EQ(set->batch_size, 32);
  EXPECT_EQ(set->run, Run::infer);
  receive("a", wire::Applied{3, 32, Run::infer});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::applied);
  EXPECT_EQ(events[0].handle, handle);
  EXPECT_EQ(events[0].set_sequence, 3u);
  EXPECT_EQ(events[0].batch_size, 32);
  sessions.command(handle, {4, 8, Run::both});
  receive("a", wire::Refused{4, wire::Text("memory"), wire::MessageText("no room")});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].type, EventType::refused);
  EXPECT_EQ(events[1].set_sequence, 4u);
  EXPECT_EQ(events[1].text.view(), "memory: no room");
}

TEST_F(SessionsTest, TakesOneAnswerAndOnlyToTheNewestCommand) {
  const WorkloadHandle handle = attach("a");
  sessions.command(handle, {1, 32, Run::both});
  sessions.command(handle, {2, 8, Run::both});
  receive("a", wire::Applied{1, 32, Run::both});  // replaced
  receive("a", wire::Applied{3, 8, Run::both});   // never given
  receive("a", wire::Applied{2, 16, Run::both});  // something else
  receive("a", wire::Applied{2, 8, Run::train});
  EXPECT_TRUE(events.empty());
  receive("a", wire::Applied{2, 8, Run::both});
  receive("a", wire::Applied{2, 8, Run::both});
  receive("a", wire::Refused{2, wire::Text("other"), {}});
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(SessionsTest, IgnoresCommandsForWhoIsGone) {
  const WorkloadHandle handle = attach("a");
  receive("a", wire::Bye{});
  sessions.command(handle, {1, 32, Run::both});
  EXPECT_FALSE(peers.last<wire::Set>("a"));
}

TEST_F(SessionsTest, DetachesWhoSaysBye) {
  const WorkloadHandle handle = attach("a");
  receive("a", wire::Bye{});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::detached);
  EXPECT_EQ(events[0].handle, handle);
  EXPECT_EQ(events[0].text.view(), "bye");
  receive("a", wire::Bye{});
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(SessionsTest, DetachesAfterFiveSecondsOfSilenceAndNotBefore) {
  attach("a");
  advance(seconds(5) - nanoseconds(1));
  EXPECT_TRUE(events.empty());
  advance(nanoseconds(1));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::detached);
  EXPECT_EQ(events[0].text.view(), "silent for 5 s");
  EXPECT_EQ(peers.last_error("a"), "unknown_client");
}

TEST_F(SessionsTest, TakesEveryMessageForASignOfLife) {
  attach("a");
  now += seconds(4);
  receive("a", wire::Heartbeat{});
  advance(seconds(4));
  receive_bytes("a", "no message at all");
  advance(seconds(4));
  EXPECT_TRUE(events.empty());
}

TEST_F(SessionsTest, SendsAHeartbeatASecond) {
  attach("a");
  EXPECT_EQ(sessions.next_due(now), now + seconds(1));
  advance(milliseconds(999));
  EXPECT_EQ(peers.count<wire::Heartbeat>("a"), 0);
  advance(milliseconds(1));
  advance(milliseconds(999));
  EXPECT_EQ(peers.count<wire::Heartbeat>("a"), 1);
  advance(milliseconds(1));
  EXPECT_EQ(peers.count<wire::Heartbeat>("a"), 2);
}

TEST_F(SessionsTest, DetachesWhoCannotBeReached) {
  const WorkloadHandle handle = attach("a");
  peers.gone.insert("a");
  sessions.command(handle, {1, 32, Run::both});
  EXPECT_EQ(sessions.next_due(now), now);
  advance(Duration::zero());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::detached);
  EXPECT_EQ(events[0].text.view(), "connection lost");
}

TEST_F(SessionsTest, ManagesOneWorkloadOfAKindAndObservesOthers) {
  receive("a", hello(Kind::train));
  receive("b", hello(Kind::infer));
  receive("c", hello(Kind::train));
  EXPECT_TRUE(peers.last<wire::Welcome>("a")->managed);
  EXPECT_TRUE(peers.last<wire::Welcome>("b")->managed);
  const auto welcome = peers.last<wire::Welcome>("c");
  EXPECT_FALSE(welcome->managed);
  EXPECT_NE(welcome->message.view().find("train"), std::string_view::npos);
  EXPECT_FALSE(events.back().workload.managed);
}

TEST_F(SessionsTest, ManagesTheNextOneWhenTheManagedOneLeaves) {
  attach("a");
  const WorkloadHandle observed = attach("b");
  attach("c");
  receive("a", wire::Bye{});
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].type, EventType::detached);
  EXPECT_EQ(events[1].handle, observed);
  EXPECT_EQ(events[2].type, EventType::attached);
  EXPECT_NE(events[2].handle, observed);  // handles are not used again
  EXPECT_TRUE(events[2].workload.managed);
  EXPECT_TRUE(peers.last<wire::Welcome>("b")->managed);
  EXPECT_FALSE(peers.last<wire::Welcome>("c"));
  receive("b", report(1));
  EXPECT_EQ(events.back().handle, events[2].handle);
}

// SIGKILL and a quick restart: the old connection is closed, its five seconds are not over.
TEST_F(SessionsTest, ManagesATrainerThatWasKilledAndStartedAgain) {
  const WorkloadHandle old = attach("a");
  peers.gone.insert("a");
  receive("b", hello());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, EventType::detached);
  EXPECT_EQ(events[0].handle, old);
  EXPECT_EQ(events[1].type, EventType::attached);
  EXPECT_TRUE(events[1].workload.managed);
}

TEST_F(SessionsTest, AttachesAnewAtASecondHello) {
  const WorkloadHandle old = attach("a");
  receive("a", report(9));
  events.clear();
  receive("a", hello());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].type, EventType::detached);
  EXPECT_EQ(events[0].handle, old);
  EXPECT_EQ(events[0].text.view(), "connection replaced");
  EXPECT_TRUE(events[1].workload.managed);
  receive("a", report(1));  // a new count
  EXPECT_EQ(count(EventType::minibatch), 1);
}

// As where its own batch size does not fit in memory, and it offers less.
TEST_F(SessionsTest, ManagesWhoWasManagedAtASecondHelloToo) {
  attach("a");
  attach("b");
  receive("a", hello());
  EXPECT_TRUE(peers.last<wire::Welcome>("a")->managed);
  EXPECT_EQ(peers.count<wire::Welcome>("b"), 0);
  receive("a", hello(Kind::infer));
  EXPECT_TRUE(peers.last<wire::Welcome>("a")->managed);
  ASSERT_TRUE(peers.last<wire::Welcome>("b")) << "there is no trainer but this one";
  EXPECT_TRUE(peers.last<wire::Welcome>("b")->managed);
}

TEST_F(SessionsTest, TellsWhoReportsWithoutAHello) {
  receive("a", report(1));
  EXPECT_EQ(peers.last_error("a"), "unknown_client");
  receive("b", wire::Bye{});
  EXPECT_TRUE(peers.last_error("b").empty());
  EXPECT_TRUE(events.empty());
}

TEST_F(SessionsTest, SaysByeToEveryone) {
  attach("a");
  attach("b", Kind::infer);
  sessions.close();
  EXPECT_TRUE(peers.last<wire::Bye>("a"));
  EXPECT_TRUE(peers.last<wire::Bye>("b"));
}

}  // namespace
}  // namespace gearshift

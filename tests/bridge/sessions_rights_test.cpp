#include <gtest/gtest.h>

#include <string>

#include "bridge/key_files.h"
#include "tests/bridge/sessions_fixture.h"

namespace gearshift {
namespace {

using frames::hello;
using frames::report;
using std::chrono::seconds;

const Caller kReporter{"drone7", {Right::report}, true, false};
const Caller kTrainer{"drone8", {Right::report, Right::request_batch_size}, true, false};

class SessionsRights : public SessionsTest {
 protected:
  template <typename Message>
  bool receive_from(const Caller& caller, const std::string& identity, const Message& message) {
    return sessions.receive(identity, frames::packed(message), now, events, caller);
  }
  std::string error_text(const std::string& identity) const {
    const auto error = peers.last<wire::Error>(identity);
    return error ? std::string(error->message.view()) : "";
  }
};

TEST_F(SessionsRights, WithoutReportNothingAttaches) {
  receive_from({"drone7", {Right::change_caps}, true}, "a", hello());
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(peers.last_error("a"), "forbidden");
  EXPECT_NE(error_text("a").find("authorise drone7 --right report"), std::string::npos);
}

TEST_F(SessionsRights, WithReportAloneAWorkloadIsObserved) {
  receive_from(kReporter, "a", hello());
  const auto welcome = peers.last<wire::Welcome>("a");
  ASSERT_TRUE(welcome);
  EXPECT_FALSE(welcome->managed);
  EXPECT_NE(welcome->message.view().find("--right request-batch-size"), std::string::npos);
  receive_from(kReporter, "a", report(1));
  EXPECT_EQ(count(EventType::minibatch), 1);
  // Nor is it managed once the managed one of its kind has left.
  receive_from(kTrainer, "b", hello());
  EXPECT_TRUE(peers.last<wire::Welcome>("b")->managed);
  receive_from(kTrainer, "b", wire::Bye{});
  EXPECT_FALSE(peers.last<wire::Welcome>("a")->managed);
}

// Neither the reserve of a battery nor the end of power waits for it.
TEST_F(SessionsRights, WithReportAloneNobodyWaitsUntilItsWorkIsSaved) {
  wire::Hello saving = hello();
  saving.saves = true;
  receive_from(kReporter, "a", saving);
  ASSERT_EQ(events.back().type, EventType::attached);
  EXPECT_FALSE(events.back().workload.saves);
  receive_from(kTrainer, "b", saving);
  EXPECT_TRUE(events.back().workload.saves);
}

TEST_F(SessionsRights, WithRequestBatchSizeItIsManaged) {
  receive_from(kReporter, "a", hello());
  receive_from(kTrainer, "b", hello());
  EXPECT_TRUE(peers.last<wire::Welcome>("b")->managed);
  EXPECT_EQ(events.back().workload.managed, true);
}

TEST_F(SessionsRights, TurnsAreForWhoMayBeManaged) {
  receive_from(kReporter, "a", hello());
  receive_from(kReporter, "a", wire::TurnRequest{1});
  EXPECT_FALSE(peers.last<wire::Turn>("a"));
  EXPECT_EQ(peers.last_error("a"), "unknown_type");
  receive_from(kTrainer, "b", hello());
  receive_from(kTrainer, "b", wire::TurnRequest{1});
  EXPECT_TRUE(peers.last<wire::Turn>("b"));
}

TEST_F(SessionsRights, ProcessNumbersOfAnotherMachineAreNotBelieved) {
  wire::Hello message = hello();
  message.pid = 4242;
  receive_from(kTrainer, "a", message);
  EXPECT_EQ(events.back().workload.pid, 0);
  Caller here = kTrainer;
  here.same_machine = true;
  receive_from(here, "b", message);
  EXPECT_EQ(events.back().workload.pid, 4242);
}

TEST_F(SessionsRights, AReviewPutsOutWhoWasRevokedAndRenewsWhoseRightsChanged) {
  receive_from(kReporter, "a", hello());
  receive_from(kTrainer, "b", hello());
  attach("local");
  ClientTable clients;
  clients.put({"drone7", make_key_pair().public_key, {Right::report, Right::change_caps}});
  events.clear();
  sessions.review(clients, now, events);
  EXPECT_EQ(peers.last_error("a"), "unknown_client");
  EXPECT_EQ(peers.last_error("b"), "forbidden");
  EXPECT_EQ(peers.last_error("local"), "");
  EXPECT_TRUE(peers.last<wire::Welcome>("local")->managed) << "the next in line is managed";
  sessions.review(clients, now, events);
  receive("local", report(1));
  EXPECT_EQ(count(EventType::minibatch), 1);
}

TEST_F(SessionsRights, AHelloWithoutTheRightToAskLeavesItsPlaceToTheNext) {
  receive_from(kTrainer, "a", hello());
  attach("local");
  Caller reporter = kTrainer;
  reporter.rights = {Right::report};
  receive_from(reporter, "a", hello());
  EXPECT_FALSE(peers.last<wire::Welcome>("a")->managed);
  ASSERT_TRUE(peers.last<wire::Welcome>("local"));
  EXPECT_TRUE(peers.last<wire::Welcome>("local")->managed);
}

TEST_F(SessionsRights, AKeyThatIsAnothersNowEndsTheAttachment) {
  receive_from(kTrainer, "a", hello());
  events.clear();
  Caller nobody;
  nobody.keyed = true;
  nobody.rights = {};
  receive_from(nobody, "a", report(1));
  EXPECT_EQ(count(EventType::minibatch), 0);
  EXPECT_EQ(count(EventType::detached), 1);
  EXPECT_EQ(peers.last_error("a"), "forbidden");
}

// ---- how much ---------------------------------------------------------------------------------

TEST_F(SessionsRights, OneClientSendsSoMuchAndNoMore) {
  attach("a");
  std::uint64_t sequence = 0;
  int taken = 0;
  while (sequence < 2000) taken += receive_from({}, "a", report(++sequence)) ? 1 : 0;
  EXPECT_EQ(taken, 512) << "the hello was charged to those that are not attached";
}

TEST_F(SessionsRights, AFloodLeavesTheOthersTheirShareInVirtualTime) {
  attach("honest", Kind::infer);
  attach("flood");
  std::uint64_t flood = 0;
  std::uint64_t sequence = 0;
  int flooded = 0;
  // Ten seconds, of which each millisecond brings fifty messages of one and one of the other.
  for (int i = 0; i < 10'000; ++i) {
    now += std::chrono::milliseconds(1);
    for (int j = 0; j < 50; ++j) flooded += receive_from({}, "flood", report(++flood)) ? 1 : 0;
    EXPECT_TRUE(receive_from({}, "honest", report(++sequence)));
  }
  EXPECT_EQ(flooded, 512 + 2 * 10'000 - 2) << "the burst, then two a millisecond";
  EXPECT_EQ(sessions.counters().excess, flood - static_cast<std::uint64_t>(flooded));
  EXPECT_EQ(peers.last_error("flood"), "too_many");
  EXPECT_EQ(peers.last_error("honest"), "");
}

TEST_F(SessionsRights, AClientIsCountedOverAllItsConnections) {
  int taken = 0;
  for (int i = 0; i < 2000; ++i) {
    taken += receive_from(kTrainer, std::to_string(i), report(1)) ? 1 : 0;
  }
  EXPECT_EQ(taken, 512);
  EXPECT_TRUE(receive_from(kReporter, "b", hello())) << "another client's share is its own";
  taken = 0;
  for (int i = 0; i < 2000; ++i) taken += receive_from({}, std::to_string(i), report(1)) ? 1 : 0;
  EXPECT_EQ(taken, 512) << "those without a key and an attachment share one";
}

TEST_F(SessionsRights, OneClientsHellosLeaveTheOthersTheirs) {
  for (int i = 0; i < 10'000; ++i) {
    now += std::chrono::milliseconds(1);
    receive_from(kReporter, "flood", hello());
  }
  EXPECT_LE(count(EventType::attached), 8 + 10) << "a burst, then one a second";
  EXPECT_EQ(peers.last_error("flood"), "too_many");
  receive_from(kTrainer, "a", hello());
  receive("b", hello(Kind::infer));
  EXPECT_TRUE(peers.last<wire::Welcome>("a"));
  EXPECT_TRUE(peers.last<wire::Welcome>("b"));
}

TEST_F(SessionsRights, WhoMayTakeNoTurnsIsToldAtEachRequest) {
  receive_from(kReporter, "a", hello());
  peers.clear();
  for (std::uint64_t i = 1; i <= 3; ++i) receive_from(kReporter, "a", wire::TurnRequest{i});
  EXPECT_EQ(peers.count<wire::Error>("a"), 3) << "one that is not answered waits for its turn";
  EXPECT_EQ(peers.last_error("a"), "unknown_type");
}

TEST_F(SessionsRights, TurnsAreCountedByThemselves) {
  attach("a");
  int taken = 0;
  for (std::uint64_t i = 1; i < 2000; ++i) {
    taken += receive_from({}, "a", wire::TurnRequest{i}) ? 1 : 0;
  }
  EXPECT_EQ(taken, 1000);
  EXPECT_TRUE(receive_from({}, "a", report(1)));
}

}  // namespace
}  // namespace gearshift

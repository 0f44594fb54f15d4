// Turns on the accelerator as clients ask for them and get them.
#include <gtest/gtest.h>

#include "tests/bridge/sessions_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SessionsTurns : public SessionsTest {
 protected:
  SessionsTurns() {
    attach("trainer");
    attach("server", Kind::infer);
  }
  // The number of the newest turn that was given to it; 0: none.
  std::uint64_t given(const std::string& identity) {
    const auto turn = peers.last<wire::Turn>(identity);
    return turn ? turn->turn : 0;
  }
};

TEST_F(SessionsTurns, AreGivenAtOnceToOneAtATime) {
  receive("trainer", wire::TurnRequest{3});
  ASSERT_EQ(given("trainer"), 3u);
  EXPECT_EQ(peers.last<wire::Turn>("trainer")->longest, seconds(10));
  receive("server", wire::TurnRequest{8});
  EXPECT_EQ(given("server"), 0u);
  receive("trainer", wire::TurnEnd{3});
  EXPECT_EQ(given("server"), 8u);
  EXPECT_TRUE(events.empty());  // the loop has nothing to do with it
}

TEST_F(SessionsTurns, PassOnWhenTheHolderLeaves) {
  receive("trainer", wire::TurnRequest{1});
  receive("server", wire::TurnRequest{1});
  receive("trainer", wire::Bye{});
  EXPECT_EQ(given("server"), 1u);
}

TEST_F(SessionsTurns, PassOnWhenTheHolderAttachesAnew) {
  receive("trainer", wire::TurnRequest{1});
  receive("server", wire::TurnRequest{1});
  receive("trainer", frames::hello());
  EXPECT_EQ(given("server"), 1u);
}

TEST_F(SessionsTurns, PassOnWhenTheHolderIsSilent) {
  receive("trainer", wire::TurnRequest{1});
  receive("server", wire::TurnRequest{1});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(given("server"), 0u);
    advance(seconds(1));
    receive("server", wire::Heartbeat{});
  }
  EXPECT_EQ(given("server"), 1u);
}

TEST_F(SessionsTurns, PassOnWhenTheHolderIsGone) {
  receive("trainer", wire::TurnRequest{1});
  receive("server", wire::TurnRequest{1});
  peers.gone.insert("trainer");
  advance(seconds(1));  // the heartbeat finds out
  EXPECT_EQ(given("server"), 1u);
}

TEST_F(SessionsTurns, AreNotGivenToWhoIsGone) {
  receive("server", wire::TurnRequest{1});
  receive("trainer", wire::TurnRequest{1});
  attach("other");
  receive("other", wire::TurnRequest{5});
  peers.gone.insert("trainer");
  receive("server", wire::TurnEnd{1});
  EXPECT_EQ(given("other"), 5u);
}

TEST_F(SessionsTurns, AreLostAfterTenSecondsAndToldOnce) {
  receive("trainer", wire::TurnRequest{1});
  receive("server", wire::TurnRequest{1});
  for (int i = 1; i < 100; ++i) {
    advance(milliseconds(100));
    receive("trainer", wire::Heartbeat{});
    receive("server", wire::Heartbeat{});
    ASSERT_EQ(given("server"), 0u) << i;
  }
  EXPECT_EQ(sessions.next_due(now), now + milliseconds(100));
  advance(milliseconds(100));
  EXPECT_EQ(given("server"), 1u);
  EXPECT_EQ(peers.last_error("trainer"), "turn_lost");
  receive("trainer", wire::TurnEnd{1});  // too late, and no error
  EXPECT_EQ(peers.count<wire::Error>("trainer"), 1);
}

TEST_F(SessionsTurns, AskedForBeyondTheBudgetComeWhenAskedForAgain) {
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    receive("server", wire::TurnRequest{i});
    receive("server", wire::TurnEnd{i});
  }
  EXPECT_EQ(given("server"), 1000u) << "their ends are not counted";
  receive("server", wire::TurnRequest{1001});
  EXPECT_EQ(given("server"), 1000u);
  EXPECT_EQ(peers.last<wire::Error>("server")->message.view(),
            "more than 10000 turns a second: ask again");
  advance(milliseconds(20));
  receive("server", wire::TurnRequest{1001});
  EXPECT_EQ(given("server"), 1001u);
}

// Of nothing: they cost as much as what asks.
TEST_F(SessionsTurns, EndsOfNothingAreCounted) {
  for (int i = 0; i < 1000; ++i) receive("server", wire::TurnEnd{7});
  EXPECT_FALSE(sessions.receive("server", frames::packed(wire::TurnEnd{7}), now, events));
  receive("server", wire::TurnRequest{8});
  EXPECT_EQ(given("server"), 0u);
}

// Two programs would hold the accelerator at once.
TEST_F(SessionsTurns, AreKeptByWhoIsManagedFromThenOn) {
  attach("next");
  receive("next", wire::TurnRequest{4});
  receive("server", wire::TurnRequest{1});
  receive("trainer", wire::Bye{});
  ASSERT_TRUE(peers.last<wire::Welcome>("next")->managed);
  EXPECT_EQ(given("server"), 0u) << "the next trainer is in its turn";
  receive("next", wire::TurnEnd{4});
  EXPECT_EQ(given("server"), 1u);
}

TEST_F(SessionsTurns, WaitedForByWhoIsManagedFromThenOnAreAskedForAnew) {
  attach("next");
  receive("server", wire::TurnRequest{1});
  receive("next", wire::TurnRequest{4});
  receive("trainer", wire::Bye{});
  receive("server", wire::TurnEnd{1});
  EXPECT_EQ(given("next"), 0u);
  receive("next", wire::TurnRequest{5});
  EXPECT_EQ(given("next"), 5u);
}

TEST_F(SessionsTurns, HeldThroughAPromotionAreLostAfterTenSecondsToo) {
  attach("next");
  receive("next", wire::TurnRequest{4});
  receive("server", wire::TurnRequest{1});
  advance(seconds(4));
  receive("trainer", wire::Bye{});
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(given("server"), 0u);
    receive("next", wire::Heartbeat{});
    receive("server", wire::Heartbeat{});
    advance(seconds(1));
  }
  EXPECT_EQ(given("server"), 1u);
  EXPECT_EQ(peers.last_error("next"), "turn_lost");
}

// So does who was managed and gives way.
TEST_F(SessionsTurns, AreKeptByWhoGivesWay) {
  attach("next");
  std::uint64_t sequence = 0;
  while (peers.last<wire::Turn>("trainer") == std::nullopt) {
    advance(seconds(1));
    for (const char* const who : {"trainer", "next", "server"}) receive(who, wire::Heartbeat{});
    receive("next", frames::report(++sequence));
    if (sequence == 145) receive("trainer", wire::TurnRequest{1});
  }
  receive("server", wire::TurnRequest{1});
  for (int i = 0; i < 8; ++i) {
    advance(seconds(1));
    for (const char* const who : {"trainer", "next", "server"}) receive(who, wire::Heartbeat{});
    receive("next", frames::report(++sequence));
  }
  ASSERT_TRUE(peers.last<wire::Welcome>("next"));
  EXPECT_TRUE(peers.last<wire::Welcome>("next")->managed);
  EXPECT_EQ(given("server"), 0u) << "the trainer that gave way is in its turn";
  receive("trainer", wire::TurnEnd{1});
  EXPECT_EQ(given("server"), 1u);
}

TEST_F(SessionsTurns, EndHoweverMuchWasSent) {
  receive("server", wire::TurnRequest{1});
  for (int i = 0; i < 2000; ++i) receive("server", wire::TurnRequest{1});
  receive("trainer", wire::TurnRequest{1});
  receive("server", wire::TurnEnd{1});
  EXPECT_EQ(given("trainer"), 1u);
}

TEST_F(SessionsTurns, AskedForAgainKeepTheirPlace) {
  attach("other");
  receive("server", wire::TurnRequest{1});
  receive("trainer", wire::TurnRequest{1});
  receive("other", wire::TurnRequest{1});
  receive("trainer", wire::TurnRequest{1});
  receive("server", wire::TurnEnd{1});
  EXPECT_EQ(given("trainer"), 1u);
  EXPECT_EQ(given("other"), 0u);
  EXPECT_EQ(peers.count<wire::Turn>("trainer"), 1);
  advance(seconds(1));
  receive("trainer", wire::TurnRequest{1});  // its turn crossed with it, or was lost
  EXPECT_EQ(peers.count<wire::Turn>("trainer"), 2);
  EXPECT_EQ(given("other"), 0u);
}

TEST_F(SessionsTurns, OfAStrangerNeedAHello) {
  receive("nobody", wire::TurnRequest{1});
  EXPECT_EQ(peers.last_error("nobody"), "unknown_client");
  receive("trainer", wire::TurnRequest{1});
  EXPECT_EQ(given("trainer"), 1u);
}

}  // namespace
}  // namespace gearshift

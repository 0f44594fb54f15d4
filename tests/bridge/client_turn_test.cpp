// The C++ client takes turns with others, as a daemon gives them that the test plays.
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <variant>

#include "bridge/client/gearshift_turn.hpp"
#include "tests/bridge/client_fixture.h"

namespace gearshift {
namespace {

using client::Options;
using std::chrono::seconds;

TEST_F(ClientTest, TakesTurns) {
  client::Workload workload(options());
  { const client::HeldTurn free(workload); }  // nobody to ask
  welcome(workload);
  send(wire::Turn{1, seconds(10)});  // it waits in the socket when it is asked for
  {
    const client::HeldTurn turn(workload);
    EXPECT_EQ(receive<wire::TurnRequest>().turn, 1u);
  }
  EXPECT_EQ(receive<wire::TurnEnd>().turn, 1u);
  send(wire::Turn{1, seconds(10)});  // of the turn before
  send(wire::Turn{2, seconds(10)});
  EXPECT_EQ(workload.take_turn(), 2u);
  EXPECT_EQ(receive<wire::TurnRequest>().turn, 2u);
  send(wire::Error{wire::Text("unknown_type"), wire::MessageText("turn_request")});
  EXPECT_EQ(workload.take_turn(), 0u);  // an older daemon
  receive<wire::TurnRequest>();
  EXPECT_EQ(workload.take_turn(), 0u);
  minibatch(workload);
  EXPECT_EQ(receive<wire::Report>().sequence, 1u);  // and it was not asked again
}

TEST_F(ClientTest, AsksAgainForATurnThatDoesNotCome) {
  client::Workload workload(options());
  welcome(workload);
  auto turn = std::async(std::launch::async, [&] { return workload.take_turn(); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_NO_THROW(EXPECT_EQ(std::get<wire::TurnRequest>(receive_any()).turn, 1u));
  }
  send(wire::Turn{1, seconds(10)});
  EXPECT_EQ(turn.get(), 1u);
}

// Each 20 ms, by how often it is asked whether it gives up.
TEST_F(ClientTest, AsksAgainForATurnAsOftenAsItLooksForIt) {
  client::Workload workload(options());
  welcome(workload);
  int asked = 0;
  const client::HeldTurn turn(workload, [&] { return ++asked == 20; });
  int requests = 0;
  while (std::holds_alternative<wire::TurnRequest>(receive_any())) ++requests;
  EXPECT_GE(requests, 3);
}

TEST_F(ClientTest, GivesUpWaitingForATurn) {
  client::Workload workload(options());
  welcome(workload);
  int asked = 0;
  {
    const client::HeldTurn turn(workload, [&] { return ++asked == 4; });
    EXPECT_TRUE(turn.given_up());
    EXPECT_EQ(asked, 4);
    EXPECT_EQ(receive<wire::TurnRequest>().turn, 1u);
    EXPECT_EQ(receive<wire::TurnEnd>().turn, 1u);
  }
  {
    const client::HeldTurn none(workload, [] { return true; });
    EXPECT_TRUE(none.given_up()) << "and it was not asked for";
  }
  send(wire::Turn{2, seconds(10)});
  {
    // It may ask the workload.
    const client::HeldTurn turn(workload, [&] { return !workload.attached(); });
    EXPECT_FALSE(turn.given_up());
    EXPECT_EQ(receive<wire::TurnRequest>().turn, 2u);
  }
  EXPECT_EQ(receive<wire::TurnEnd>().turn, 2u);
}

TEST_F(ClientTest, GivesUpWaitingForATurnInAPause) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Set{1, 16, Run::infer});
  await([&] { return workload.poll(); }, workload);
  int asked = 0;
  EXPECT_EQ(workload.take_turn([&] { return ++asked == 3; }), std::nullopt);
  EXPECT_EQ(receive<wire::Applied>().set, 1u);
  minibatch(workload);
  receive<wire::Report>();  // and no turn was asked for
}

TEST_F(ClientTest, WithdrawsATurnWhereWhatItAsksThrows) {
  client::Workload workload(options());
  welcome(workload);
  int asked = 0;
  const auto interrupted = [&]() -> bool {
    if (++asked == 3) throw std::runtime_error("interrupted");
    return false;
  };
  EXPECT_THROW(workload.take_turn(interrupted), std::runtime_error);
  EXPECT_EQ(receive<wire::TurnRequest>().turn, 1u);
  EXPECT_EQ(receive<wire::TurnEnd>().turn, 1u);
}

TEST_F(ClientTest, EndsNoTurnWhereWhatItAsksThrowsBeforeOneIsAskedFor) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Turn{1, seconds(10)});
  ASSERT_EQ(workload.take_turn(), 1u);
  receive<wire::TurnRequest>();
  const auto interrupted = []() -> bool { throw std::runtime_error("interrupted"); };
  EXPECT_THROW(workload.take_turn(interrupted), std::runtime_error);
  minibatch(workload);
  EXPECT_NO_THROW(receive<wire::Report>()) << "it is in its first turn still";
}

// As one that takes a signal's number, and is then not stopped any more.
TEST_F(ClientTest, GivesUpATurnWheneverItIsSaidOnce) {
  client::Workload workload(options());
  welcome(workload);
  for (const int when : {1, 2, 3}) {
    int asked = 0;
    const auto once = [&] { return ++asked == when || asked == when + 10; };
    EXPECT_EQ(workload.take_turn(once), std::nullopt);
    EXPECT_EQ(asked, when);
  }
}

TEST_F(ClientTest, WaitsForATurnNoLongerThanTheDaemonLives) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Bye{});
  EXPECT_EQ(workload.take_turn(), 0u);
  EXPECT_FALSE(workload.attached());
}

class ClientTurn : public ClientTest {
 protected:
  // Waits for its turn until it has it, or until the test is over.
  void wait_for_turn(client::Workload& workload, const std::function<void()>& meanwhile) {
    auto turn = std::async(std::launch::async, [&] { return workload.take_turn(); });
    bool given = false;
    const AtEnd bye([&] {
      if (!given) send(wire::Bye{});
    });
    EXPECT_EQ(receive<wire::TurnRequest>().turn, 1u);
    meanwhile();
    EXPECT_EQ(receive<wire::TurnRequest>().turn, 2u);
    send(wire::Turn{2, seconds(10)});
    given = true;
    EXPECT_EQ(turn.get(), 2u);
  }
};

TEST_F(ClientTurn, IsNotWaitedForWhileTheWorkIsSaved) {
  int saves = 0;
  Options saving = options();
  saving.save = [&] { ++saves; };
  client::Workload workload(saving);
  welcome(workload);
  wait_for_turn(workload, [&] {
    send(wire::CheckpointRequest{3, seconds(30)});
    EXPECT_EQ(receive<wire::TurnEnd>().turn, 1u);
    EXPECT_EQ(receive<wire::Saved>().checkpoint, 3u);
  });
  EXPECT_EQ(saves, 1);
}

TEST_F(ClientTurn, IsNotWaitedForInAPause) {
  client::Workload workload(options());
  welcome(workload);
  wait_for_turn(workload, [&] {
    send(wire::Set{1, 32, Run::infer});
    EXPECT_EQ(receive<wire::TurnEnd>().turn, 1u);
    const wire::Applied applied = receive<wire::Applied>();
    EXPECT_EQ(applied.set, 1u);
    EXPECT_EQ(applied.batch_size, 32);
    EXPECT_EQ(applied.run, Run::infer);
    send(wire::Set{2, 32, Run::both});
  });
  minibatch(workload);  // the program was not told of another size yet
  EXPECT_EQ(receive<wire::Report>().batch_size, 16);
  EXPECT_TRUE(workload.poll());
  workload.applied();
  EXPECT_EQ(receive<wire::Applied>().set, 2u);
}

TEST_F(ClientTurn, KeepsNoOtherThreadWaiting) {
  client::Workload workload(options());
  welcome(workload);
  auto turn = std::async(std::launch::async, [&] { return workload.take_turn(); });
  const AtEnd bye([this] { send(wire::Bye{}); });
  EXPECT_EQ(receive<wire::TurnRequest>().turn, 1u);
  auto looks = std::async(std::launch::async, [&] {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(workload.attached());
  });
  EXPECT_EQ(looks.wait_for(seconds(5)), std::future_status::ready);
  send(wire::Turn{1, seconds(10)});
  EXPECT_EQ(turn.get(), 1u);
}

}  // namespace
}  // namespace gearshift

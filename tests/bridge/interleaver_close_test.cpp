// How the C++ interleaver ends, what its requests hear, and what it is given.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/bridge/interleaver_fixture.h"

namespace gearshift {
namespace {

using client::Interleaver;
using client::RequestNotServed;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class InterleaverEnd : public InterleaverTest {
 protected:
  static std::vector<int> echo(const std::vector<int>& requests) { return requests; }
  // What it says where it is not made.
  std::string said(const std::function<bool()>& train,
                   const std::function<std::vector<int>(const std::vector<int>&)>& infer) const {
    try {
      Interleaver<int, int>{given, train, infer};
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return {};
  }
  static std::string failure_of(std::future<int> future) {
    if (future.wait_for(seconds(0)) != std::future_status::ready) return "it waits";
    try {
      future.get();
    } catch (const RequestNotServed& error) {
      return error.what();
    }
    return "answered";
  }
};

TEST_F(InterleaverEnd, ByCloseLeavesNobodyWaiting) {
  std::future<int> waits;
  Interleaver<int, int>* running = nullptr;
  int trained = 0;
  const auto train = [&] {
    if (++trained == 3) running->close();
    return true;
  };
  Interleaver<int, int> one(given, train, echo);
  running = &one;
  waits = one.submit(1);
  one.run([] { return false; });
  EXPECT_EQ(trained, 3) << "the minibatch under way was the last";
  EXPECT_EQ(failure_of(std::move(waits)), "dropped: the server closed before its turn came");
  EXPECT_EQ(failure_of(one.submit(2)), "dropped: the server is closed");
  one.run([] { return false; });
  EXPECT_EQ(trained, 3);
  one.close();
}

// Main would join a thread that waits for an answer that never comes.
TEST_F(InterleaverEnd, ByCloseEndsThreadsThatWaitForAnswers) {
  constexpr int kServed = 3;
  given.batch_size = 1;
  int served = 0;
  std::promise<void> one_more_waits;
  Interleaver<int, int> one(
      given, [] { return true; },
      [&](const std::vector<int>& requests) {
        ++served;
        return requests;
      });
  auto serving = std::async(std::launch::async, [&] {
    int answered = 0;
    try {
      for (;; ++answered) {
        std::future<int> answer = one.submit(answered);
        if (answered == kServed) one_more_waits.set_value();
        answer.get();
      }
    } catch (const RequestNotServed&) {
      return answered;
    }
  });
  one.run([&] { return served == kServed; });
  one_more_waits.get_future().wait();
  one.close();
  EXPECT_EQ(serving.get(), kServed);
}

TEST_F(InterleaverEnd, SaysByeForBothKinds) {
  Interleaver<int, int> one(
      given, [] { return true; }, echo);
  for (int i = 0; i < 2; ++i) {
    receive<wire::Hello>();
    send(welcoming());
  }
  await([&] { return one.server().attached(); }, one.server());
  await([&] { return one.trainer().attached(); }, one.trainer());
  one.close();
  receive<wire::Bye>();
  receive<wire::Bye>();
  EXPECT_FALSE(one.server().attached());
}

TEST_F(InterleaverEnd, TellsOfTheNewestRequestsBeforeItsBye) {
  for (const bool closes : {true, false}) {
    {
      Interleaver<int, int> one(given, {}, echo);
      receive<wire::Hello>();
      send(welcoming());
      await([&] { return one.server().attached(); }, one.server());
      for (int i = 0; i < 5; ++i) one.submit(i);
      EXPECT_EQ(one.step(), Turn::infer);
      if (closes) one.close();
    }
    receive<wire::Report>();
    const auto rest = receive<wire::Requests>();
    EXPECT_EQ(rest.arrived, 5u);
    EXPECT_EQ(rest.served, 4u);
    EXPECT_EQ(rest.refused, 0u) << "one waited, and was not late";
    EXPECT_EQ(rest.queued, 0u);
    receive<wire::Bye>();
  }
}

TEST_F(InterleaverEnd, PutsNothingBackThatDoesNotFitOnceItIsClosed) {
  given.batch_sizes = {1, 4};
  Interleaver<int, int>* running = nullptr;
  Interleaver<int, int> one(given, {}, [&](const std::vector<int>&) -> std::vector<int> {
    running->close();
    throw std::bad_alloc();
  });
  running = &one;
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(one.submit(i));
  one.step();
  for (auto& future : futures) {
    ASSERT_EQ(future.wait_for(seconds(0)), std::future_status::ready);
    EXPECT_THROW(future.get(), std::bad_alloc);
  }
}

TEST_F(InterleaverEnd, WithoutTrainingIsNoTrainerToTheDaemon) {
  Interleaver<int, int> one(given, {}, echo);
  EXPECT_EQ(receive<wire::Hello>().kind, Kind::infer);
  send(welcoming());
  await([&] { return one.server().attached(); }, one.server());
  EXPECT_EQ(one.step(), Turn::wait);
  EXPECT_THROW(one.trainer(), std::bad_optional_access);
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(one.submit(i));
  EXPECT_EQ(one.step(), Turn::infer);
  EXPECT_EQ(futures[3].get(), 3);
  receive<wire::Report>();  // and no other hello came
}

TEST_F(InterleaverEnd, IsNotBegunWithWhatCannotBe) {
  const auto train = [] { return true; };
  EXPECT_EQ(said(train, {}), "infer is empty: give what answers requests");
  given.train_batch_size = 0;
  EXPECT_EQ(said(train, echo), "train_batch_size 0: give 1 to 1048576");
  given.train_batch_size = 1;
  given.batch_size = 0;
  EXPECT_EQ(said(train, echo), "batch_size 0: give 1 to 1048576");
}

TEST_F(InterleaverEnd, TellsEachRequestWhyItGetsNoAnswer) {
  using client::detail::lateness;
  using client::detail::refusal;
  EXPECT_EQ(refusal(3, 4, microseconds(51'260), milliseconds(100)),
            "refused: 3 requests wait, and 4 take 51.3 ms: this one would be answered later than "
            "100 ms");
  EXPECT_EQ(refusal(65536, 4, milliseconds(5), milliseconds(100)),
            "refused: 65536 requests wait, which is the most");
  EXPECT_EQ(lateness(milliseconds(120), milliseconds(100)),
            "dropped: it waited 120.0 ms of 100 ms");
}

// That requests were late is told a tenth of a second after, though the others' wait is longer.
TEST(LongestWait, IsUntilARequestIsDueOrTheDaemonIsToHearOfTheOthers) {
  using client::longest_wait;
  const TurnChoice idle{Turn::wait, seconds(50)};
  EXPECT_EQ(longest_wait(idle, 0, milliseconds(60)), milliseconds(200)) << "nothing is to be told";
  EXPECT_EQ(longest_wait(idle, 1, milliseconds(60)), milliseconds(60));
  EXPECT_EQ(longest_wait(idle, 1, milliseconds(400)), milliseconds(200));
  EXPECT_EQ(longest_wait(idle, 1, milliseconds(-3)), milliseconds(0));
  EXPECT_EQ(longest_wait({Turn::wait, milliseconds(7)}, 1, milliseconds(60)), milliseconds(7));
}

}  // namespace
}  // namespace gearshift

// How the C++ interleaver ends, what its requests hear, and what it is given.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "bridge/client/gearshift_interleaver.hpp"
#include "tests/bridge/client_fixture.h"

namespace gearshift {
namespace {

using client::Interleaver;
using client::RequestNotServed;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class InterleaverEnd : public ClientTest {
 protected:
  InterleaverEnd() {
    given.name = "lenet";
    given.latency = seconds(100);  // no machine is that slow
    given.batch_size = 4;
    given.endpoint = endpoint;
  }
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

  // Of the next report of requests that were late.
  milliseconds span_of_late() {
    for (;;) {
      const wire::ClientMessage message = receive_any();
      const auto* const counts = std::get_if<wire::Requests>(&message);
      if (counts == nullptr || counts->late == 0) continue;
      return std::chrono::duration_cast<milliseconds>(counts->span);
    }
  }

  client::InterleaverOptions given;
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
  Interleaver<int, int> one(
      given, [] { return true; }, echo);
  auto serving = std::async(std::launch::async, [&] {
    int answered = 0;
    try {
      for (;; ++answered) one.submit(answered).get();
    } catch (const RequestNotServed&) {
      return answered;
    }
  });
  int steps = 0;
  one.run([&] { return ++steps > 50; });
  one.close();
  EXPECT_GE(serving.get(), 0);
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

// A tenth of a second after, though the others' wait is longer.
TEST_F(InterleaverEnd, TellsSoonOfRequestsThatWereLate) {
  bool fails = true;
  Interleaver<int, int> one(given, {}, [&](const std::vector<int>& requests) {
    if (fails) throw std::runtime_error("no answer");
    return requests;
  });
  welcome(one.server());
  std::vector<std::future<int>> futures;
  milliseconds span = seconds(1);
  for (int round = 0; round < 20 && span >= milliseconds(190); ++round) {
    fails = true;
    for (int i = 0; i < 4; ++i) futures.push_back(one.submit(i));
    EXPECT_EQ(one.step(), Turn::infer);
    futures.push_back(one.submit(4));  // one that waits
    EXPECT_EQ(one.step(), Turn::wait);
    one.step();
    span = span_of_late();
    fails = false;
    for (int i = 0; i < 3; ++i) futures.push_back(one.submit(i));
    EXPECT_EQ(one.step(), Turn::infer);
  }
  EXPECT_LT(span, milliseconds(190)) << "the wait alone is two tenths";
}

}  // namespace
}  // namespace gearshift

// The C++ interleaver, and the times that it plans with.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "bridge/client/gearshift_interleaver.hpp"
#include "bridge/protocol.h"
#include "tests/bridge/frames.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(ServiceTimes, LeaveOutTheFirstAndLoneOutliers) {
  ServiceTimes times;
  times.add(nanoseconds(3000));
  EXPECT_EQ(times.estimate(), nanoseconds(0));
  for (const int elapsed : {10, 11, 12, 10, 11}) times.add(nanoseconds(elapsed));
  EXPECT_EQ(times.estimate(), nanoseconds(12));
  times.add(nanoseconds(500));
  EXPECT_EQ(times.estimate(), nanoseconds(22));
  times.forget_largest();
  EXPECT_EQ(times.estimate(), nanoseconds(12));
  for (int i = 0; i < 64; ++i) times.add(nanoseconds(30));
  for (int i = 0; i < 64; ++i) times.add(nanoseconds(20));
  EXPECT_EQ(times.estimate(), nanoseconds(20));
  times.restart();
  EXPECT_EQ(times.estimate(), nanoseconds(0));
  times.add(nanoseconds(7));
  EXPECT_EQ(times.estimate(), nanoseconds(7));
}

TEST(BatchTimes, OfASizeNotSeenAreAsLongAsItsNeighbours) {
  BatchTimes times({1, 4, 16});
  EXPECT_EQ(times.estimate(4), nanoseconds(0));
  for (int i = 0; i < 2; ++i) times.add(3, nanoseconds(40));
  EXPECT_EQ(times.estimate(1), nanoseconds(40));
  EXPECT_EQ(times.estimate(4), nanoseconds(40));
  EXPECT_EQ(times.estimate(16), nanoseconds(40));
  for (int i = 0; i < 2; ++i) {
    times.add(1, nanoseconds(15));
    times.add(16, nanoseconds(30));
  }
  EXPECT_EQ(times.estimate(1), nanoseconds(15));
  EXPECT_EQ(times.estimate(4), nanoseconds(40));
  EXPECT_EQ(times.estimate(16), nanoseconds(40));
  // Other numbers are of the size that holds them.
  for (const int samples : {2, 5, 17}) EXPECT_EQ(times.estimate(samples), nanoseconds(40));
}

TEST(BatchTimes, LeaveOutTheFirstOfEachNumberOfSamples) {
  BatchTimes times({1, 4, 16});
  for (const int samples : {4, 9, 12, 16}) times.add(samples, nanoseconds(3000));
  EXPECT_EQ(times.estimate(16), nanoseconds(0));
  times.add(4, nanoseconds(10));
  times.add(9, nanoseconds(20));
  EXPECT_EQ(times.estimate(1), nanoseconds(10));
  EXPECT_EQ(times.estimate(4), nanoseconds(10));
  EXPECT_EQ(times.estimate(16), nanoseconds(20));
}

TEST(Patience, IsOverAfterASecondThenTwoAndAMinuteAtMost) {
  Patience patience;
  nanoseconds now(0);
  EXPECT_FALSE(patience.waits());
  for (const int seconds : {1, 2, 4, 8, 16, 32, 64, 64}) {
    EXPECT_FALSE(patience.over(now));
    EXPECT_TRUE(patience.waits());
    now += std::chrono::seconds(seconds);
    EXPECT_FALSE(patience.over(now - nanoseconds(1)));
    EXPECT_TRUE(patience.over(now)) << seconds;
  }
  patience.end();
  patience.restart();
  EXPECT_FALSE(patience.over(now));
  EXPECT_TRUE(patience.over(now + std::chrono::seconds(1)));
}

// A minute of requests that take `one` or, where two or more wait, `many`: what people are told.
std::vector<std::string> told_of(ShutOut& shut, BatchTimes& times, nanoseconds one,
                                 nanoseconds many) {
  std::vector<std::string> told;
  std::int64_t served = 0;
  for (nanoseconds at{0}; at < std::chrono::minutes(1); at += milliseconds(10)) {
    if (times.estimate(1) <= milliseconds(20)) {
      times.add(1, one);
      times.add(16, many);
      served += 2;
    }
    const std::string text = shut.judge(times, 16, at, served);
    if (!text.empty()) told.push_back(text);
  }
  return told;
}

TEST(ShutOut, TellsOnceWhereNoRequestCanBeAnsweredInTime) {
  for (const int late_ms : {50, 20}) {
    BatchTimes times({1, 4, 16});
    ShutOut shut{milliseconds(20)};
    const std::vector<std::string> told =
        told_of(shut, times, milliseconds(late_ms), milliseconds(50));
    if (late_ms > 20) {
      ASSERT_EQ(told.size(), 1u);
      EXPECT_EQ(told[0],
                "a request takes 50 ms, its latency is 20 ms: none can be answered in time");
    } else {
      EXPECT_TRUE(told.empty());
    }
  }
}

TEST(ShutOut, TriesAgainAtOnceInAnotherSetting) {
  BatchTimes times({1, 4, 16});
  ShutOut shut{milliseconds(20)};
  for (int i = 0; i < 2; ++i) times.add(1, milliseconds(50));
  shut.try_again(times);
  EXPECT_EQ(times.estimate(1), milliseconds(50)) << "nothing was kept out yet";
  EXPECT_EQ(shut.judge(times, 16, nanoseconds(0), 2), "");
  shut.try_again(times);
  EXPECT_EQ(times.estimate(1), nanoseconds(0));
}

TEST(BatchTimes, CanBeForgotten) {
  BatchTimes times({1, 4, 16});
  for (int i = 0; i < 2; ++i) {
    times.add(4, nanoseconds(30));
    times.add(16, nanoseconds(25));
  }
  times.add(4, nanoseconds(20));
  EXPECT_EQ(times.estimate(16), nanoseconds(30));
  times.forget_largest(16);  // the 30 of 4, which is at least what 16 take
  EXPECT_EQ(times.estimate(4), nanoseconds(20));
  EXPECT_EQ(times.estimate(16), nanoseconds(25));
  for (int i = 0; i < 2; ++i) times.add(1, nanoseconds(15));
  times.forget_longer(nanoseconds(20));
  EXPECT_EQ(times.estimate(1), nanoseconds(15));
  EXPECT_EQ(times.estimate(16), nanoseconds(20));
  times.forget_longer(nanoseconds(14));
  EXPECT_EQ(times.estimate(16), nanoseconds(0));
  times.forget_largest(16);
}

TEST(BatchTimes, TellHowManyAreInTime) {
  BatchTimes times({1, 4, 16});
  for (int i = 0; i < 2; ++i) {
    times.add(1, nanoseconds(10));
    times.add(4, nanoseconds(20));
    times.add(16, nanoseconds(70));
  }
  EXPECT_EQ(times.most_within(9, nanoseconds(70)), 9);
  EXPECT_EQ(times.most_within(9, nanoseconds(69)), 4);
  EXPECT_EQ(times.most_within(9, nanoseconds(19)), 1);
  EXPECT_EQ(times.most_within(9, nanoseconds(9)), 9);
  EXPECT_EQ(times.most_within(4, nanoseconds(19)), 1);
  EXPECT_EQ(times.most_within(3, nanoseconds(20)), 3);
}

TEST(BatchTimes, ArePlannedAsTheWholeLatencyWhereOnlySomeOfThoseThatComeAreInTime) {
  BatchTimes times({1, 4, 16});
  for (int i = 0; i < 2; ++i) {
    times.add(1, nanoseconds(10));
    times.add(16, nanoseconds(70));
  }
  EXPECT_EQ(times.planned(16, nanoseconds(100)), nanoseconds(70));
  EXPECT_EQ(times.planned(16, nanoseconds(60)), nanoseconds(60));
  EXPECT_EQ(times.planned(16, nanoseconds(10)), nanoseconds(10));
  EXPECT_EQ(times.planned(16, nanoseconds(9)), nanoseconds(70));
  EXPECT_EQ(times.planned(16, nanoseconds(0)), nanoseconds(70));
}

TEST(Arrivals, TellHowManyMayCome) {
  Arrivals arrivals;
  EXPECT_EQ(arrivals.most_within(nanoseconds(10), nanoseconds(100), 64), 1);
  arrivals.add(nanoseconds(100));
  EXPECT_EQ(arrivals.most_within(nanoseconds(100), nanoseconds(100), 64), 64);
  EXPECT_EQ(arrivals.most_within(nanoseconds(10), nanoseconds(110), 64), 4);
  EXPECT_EQ(arrivals.most_within(nanoseconds(10), nanoseconds(1100), 64), 1);
  for (int at = 1000; at < 1320; at += 10) arrivals.add(nanoseconds(at));
  EXPECT_EQ(arrivals.most_within(nanoseconds(0), nanoseconds(1320), 64), 1);
  EXPECT_EQ(arrivals.most_within(nanoseconds(10), nanoseconds(1320), 64), 4);
  EXPECT_EQ(arrivals.most_within(nanoseconds(90), nanoseconds(1320), 64), 18);
  EXPECT_EQ(arrivals.most_within(nanoseconds(9000), nanoseconds(1320), 64), 64);
}

class Interleaving : public testing::Test {
 protected:
  InterleaverOptions options() const {
    InterleaverOptions options;
    options.name = "lenet";
    options.latency = std::chrono::seconds(100);  // no machine is that slow
    options.batch_size = 4;
    options.endpoint = "ipc://" + tree.at("nobody.ipc").string();
    return options;
  }
  Interleaver<int, int>::Train train() {
    return [this] {
      done += "t";
      return true;
    };
  }
  Interleaver<int, int>::Infer infer() {
    return [this](const std::vector<int>& requests) {
      done += std::to_string(requests.size());
      std::vector<int> answers;
      for (const int request : requests) answers.push_back(2 * request);
      return answers;
    };
  }

  const fakes::TempTree tree;
  std::string done;  // what ran
};

TEST_F(Interleaving, ServesNobodyAfterTrainingFailedUntilItRunsAgain) {
  std::future<int> waits;
  Interleaver<int, int>* running = nullptr;
  int calls = 0;
  const auto fails_once = [&]() -> bool {
    if (++calls > 1) return false;
    waits = running->submit(1);
    throw std::runtime_error("out of memory");
  };
  Interleaver<int, int> one(options(), fails_once, infer());
  running = &one;
  EXPECT_THROW(one.run([] { return false; }), std::runtime_error);
  const auto ready = [](const std::future<int>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  ASSERT_TRUE(ready(waits)) << "nobody would ever answer it";
  EXPECT_THROW(waits.get(), RequestNotServed);
  std::future<int> later = one.submit(2);
  ASSERT_TRUE(ready(later));
  EXPECT_THROW(later.get(), RequestNotServed);

  one.run([] { return true; });
  std::vector<std::future<int>> served;
  for (int i = 0; i < 4; ++i) served.push_back(one.submit(i));
  one.run([&] { return ready(served[3]); });
  EXPECT_EQ(served[3].get(), 6);
}

TEST_F(Interleaving, TrainsUntilABatchIsFull) {
  Interleaver<int, int> one(options(), train(), infer());
  EXPECT_EQ(one.step(), Turn::train);
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 3; ++i) futures.push_back(one.submit(i));
  one.step();
  futures.push_back(one.submit(3));
  EXPECT_EQ(one.step(), Turn::infer);
  one.step();
  EXPECT_EQ(done, "tt4t");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), 2 * i);
  EXPECT_EQ(one.train_minibatches(), 3);
  EXPECT_EQ(one.infer_minibatches(), 1);
}

TEST_F(Interleaving, DropsWhatIsLateAndRefusesWhatWouldBe) {
  InterleaverOptions hasty = options();
  hasty.latency = nanoseconds(1);
  Interleaver<int, int> one(hasty, train(), infer());
  std::future<int> first = one.submit(1);  // nothing is known of the times yet
  while (first.wait_for(nanoseconds(0)) != std::future_status::ready) one.step();
  EXPECT_THROW(first.get(), RequestNotServed);

  InterleaverOptions patient = options();
  patient.latency = milliseconds(500);
  Interleaver<int, int> other(patient, train(), [&](const std::vector<int>& requests) {
    for (volatile int spin = 0; spin < 3'000'000;) spin = spin + 1;  // 1 ms at the very least
    return requests;
  });
  std::vector<std::future<int>> futures;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 4; ++i) futures.push_back(other.submit(i));
    other.step();
  }
  // A millisecond or more for four of them: not all of these can be answered in time.
  for (int i = 0; i < 4000; ++i) futures.push_back(other.submit(i));
  EXPECT_EQ(futures.back().wait_for(nanoseconds(0)), std::future_status::ready);
  EXPECT_THROW(futures.back().get(), RequestNotServed);
  EXPECT_NE(futures[8].wait_for(nanoseconds(0)), std::future_status::ready);
}

// Of 16 by proportion each minibatch would be late; by the time of those that wait none is.
TEST_F(Interleaving, AnswersRequestsThatComeOneByOneThoughAFullBatchMayBeLate) {
  InterleaverOptions seldom = options();
  seldom.latency = milliseconds(600);
  seldom.batch_size = 16;
  seldom.batch_sizes = {1, 4, 16};
  Interleaver<int, int> one(
      seldom, [] { return false; },
      [](const std::vector<int>& requests) {
        std::promise<void>().get_future().wait_for(milliseconds(40));
        return requests;
      });
  for (int i = 0; i < 4; ++i) {
    std::future<int> answer = one.submit(i);
    while (answer.wait_for(nanoseconds(0)) != std::future_status::ready) one.step();
    EXPECT_EQ(answer.get(), i);
  }
}

TEST_F(Interleaving, GivesTheErrorOfTheModelToItsRequests) {
  Interleaver<int, int> one(options(), train(),
                            [](const std::vector<int>&) { return std::vector<int>{1}; });
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(one.submit(i));
  one.step();
  EXPECT_THROW(futures[0].get(), std::length_error);
  EXPECT_THROW(futures[3].get(), std::length_error);
  EXPECT_EQ(one.step(), Turn::train);
}

TEST_F(Interleaving, GoesOnServingWhenTrainingIsOver) {
  Interleaver<int, int> one(
      options(), [] { return false; }, infer());
  one.step();
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(one.submit(i));
  EXPECT_EQ(one.step(), Turn::infer);
  EXPECT_EQ(one.train_minibatches(), 0);
  EXPECT_EQ(futures[3].get(), 6);
}

TEST_F(Interleaving, TheTrainerLeavesTheDaemonWhenTrainingIsOver) {
  zmq::context_t context{1};
  zmq::socket_t daemon(context, zmq::socket_type::router);
  daemon.set(zmq::sockopt::linger, 0);
  daemon.bind(options().endpoint);
  bool over = false;
  Interleaver<int, int> one(
      options(), [&] { return !over; }, infer());
  std::string trainer;
  bool left = false;
  for (int i = 0; i < 300 && !left; ++i) {
    one.step();
    over = one.trainer().attached() && one.server().attached();
    zmq::pollitem_t item{daemon.handle(), 0, ZMQ_POLLIN, 0};
    zmq::poll(&item, 1, milliseconds(20));
    zmq::message_t identity;
    zmq::message_t frame;
    while (daemon.recv(identity, zmq::recv_flags::dontwait) && daemon.recv(frame)) {
      wire::ClientMessage message;
      ASSERT_FALSE(wire::decode(frame.to_string_view(), message));
      if (const auto* hello = std::get_if<wire::Hello>(&message)) {
        if (hello->kind == gearshift::Kind::train) trainer = identity.to_string();
        wire::Welcome welcome;
        welcome.workload = 1;
        welcome.managed = true;
        welcome.heartbeat = std::chrono::seconds(1);
        welcome.silent_after = std::chrono::seconds(60);
        daemon.send(identity, zmq::send_flags::sndmore);
        daemon.send(zmq::buffer(frames::packed(welcome)), zmq::send_flags::none);
      } else if (std::holds_alternative<wire::Bye>(message)) {
        EXPECT_EQ(identity.to_string(), trainer);
        left = true;
      }
    }
  }
  EXPECT_TRUE(left);
  EXPECT_FALSE(one.trainer().attached());
  EXPECT_TRUE(one.server().attached());
}

TEST_F(Interleaving, DropsWhatWaitsWhenItEnds) {
  std::future<int> waiting;
  {
    Interleaver<int, int> one(options(), train(), infer());
    waiting = one.submit(1);
  }
  EXPECT_THROW(waiting.get(), RequestNotServed);
}

}  // namespace
}  // namespace gearshift::client

// What the daemon hears of the C++ interleaver's requests that get no answer: late are those whose
// time was over, whatever ended them.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "tests/bridge/interleaver_fixture.h"

namespace gearshift {
namespace {

using client::RequestNotServed;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Counted = client::Interleaver<int, int>;

class InterleaverCounts : public InterleaverTest {
 protected:
  void attach(client::Workload& workload) {
    expect<wire::Hello>();
    send(welcoming());
    await([&] { return workload.attached(); }, workload);
  }
  // The first report of requests, before which it runs.
  wire::Requests heard_of(Counted& one) {
    wire::Requests counts;
    const auto is_heard = [&] {
      one.step();
      zmq::message_t frame;
      while (daemon.recv(identity, zmq::recv_flags::dontwait) && daemon.recv(frame)) {
        wire::ClientMessage message;
        if (wire::decode(frame.to_string_view(), message)) throw std::runtime_error("no message");
        const auto* const found = std::get_if<wire::Requests>(&message);
        if (found == nullptr) continue;
        counts = *found;
        return true;
      }
      return false;
    };
    await(is_heard, one.server());
    return counts;
  }
  static bool ready(const std::future<int>& future) {
    return future.wait_for(seconds(0)) == std::future_status::ready;
  }
};

TEST_F(InterleaverCounts, WhoseModelFailsAreNotLate) {
  Counted one(given, {}, [](const std::vector<int>&) -> std::vector<int> {
    throw std::runtime_error("no such label");
  });
  attach(one.server());
  std::vector<std::future<int>> futures;
  for (int i = 0; i < 4; ++i) futures.push_back(one.submit(i));
  one.step();
  EXPECT_THROW(futures[0].get(), std::runtime_error);
  const wire::Requests counts = heard_of(one);
  EXPECT_EQ(counts.arrived, 4U);
  EXPECT_EQ(counts.late, 0U);
  EXPECT_EQ(counts.refused, 0U);
}

TEST_F(InterleaverCounts, ThatWaitWhenTrainingFailsAreNotLate) {
  int calls = 0;
  const auto fails_once = [&]() -> bool {
    if (++calls > 1) return false;
    throw std::runtime_error("the disk is full");
  };
  Counted one(given, fails_once, [](const std::vector<int>& requests) { return requests; });
  for (int i = 0; i < 2; ++i) {
    expect<wire::Hello>();
    send(welcoming());
  }
  await([&] { return one.server().attached(); }, one.server());
  std::future<int> waits = one.submit(1);
  EXPECT_THROW(one.run([] { return false; }), std::runtime_error);
  EXPECT_THROW(waits.get(), RequestNotServed);
  EXPECT_THROW(one.submit(2).get(), RequestNotServed);
  const wire::Requests counts = heard_of(one);
  EXPECT_EQ(counts.arrived, 1U);
  EXPECT_EQ(counts.late, 0U);
}

TEST_F(InterleaverCounts, ThatTheDaemonLetsWaitAreDroppedOnceTheyAreLate) {
  given.latency = milliseconds(20);
  Counted one(given, {}, [](const std::vector<int>& requests) { return requests; });
  attach(one.server());
  send(wire::Set{1, 4, Run::train});
  await(
      [&] {
        one.step();
        return one.server().wanted().set == 1;
      },
      one.server());
  std::future<int> waits = one.submit(1);
  const auto is_dropped = [&] {
    one.step();
    return ready(waits);
  };
  await(is_dropped, one.server());
  ASSERT_TRUE(ready(waits)) << "it would wait for as long as the daemon pleases";
  try {
    waits.get();
    FAIL() << "it was answered";
  } catch (const RequestNotServed& dropped) {
    EXPECT_TRUE(std::string(dropped.what()).starts_with("dropped: it waited ")) << dropped.what();
  }
  const wire::Requests counts = heard_of(one);
  EXPECT_EQ(counts.refused, 1U);
}

}  // namespace
}  // namespace gearshift

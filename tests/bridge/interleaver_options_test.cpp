// What the C++ interleaver does that its program chose: it fills batches or does not, and saves.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "tests/bridge/interleaver_fixture.h"

namespace gearshift {
namespace {

using std::chrono::nanoseconds;

std::vector<int> answer(const std::vector<int>& requests) { return requests; }

TEST(Oversleeping, IsTheMostOfTheNewestWaitsThatWereNotEnded) {
  client::Oversleeping late;
  EXPECT_EQ(late.most(), nanoseconds(0));
  late.add(nanoseconds(70));
  for (int i = 0; i < 255; ++i) late.add(nanoseconds(3));
  late.add(nanoseconds(-90));
  EXPECT_EQ(late.most(), nanoseconds(70));
  late.add(nanoseconds(0));
  EXPECT_EQ(late.most(), nanoseconds(3));
}

TEST_F(InterleaverTest, WithoutALimitLetsARequestWaitOnlyForABatchThatTheDaemonChose) {
  given.latency = nanoseconds(0);
  given.batch_sizes = {1, 4, 16};
  client::Interleaver<int, int> one(given, {}, answer);
  std::future<int> alone = one.submit(7);
  EXPECT_EQ(one.step(), Turn::infer);
  EXPECT_EQ(alone.get(), 7);

  expect<wire::Hello>();
  send(welcoming());
  await([&] { return one.server().attached(); }, one.server());
  send(wire::Set{1, 4, Run::both});
  while (one.server().wanted().set == 0) one.step();
  alone = one.submit(8);
  EXPECT_EQ(one.step(), Turn::wait) << "a fifth of a second of the one that it may wait";
}

TEST_F(InterleaverTest, SavesWhatItTrainsAndTheServerAloneWhereNothingIsTrained) {
  for (const bool trains : {true, false}) {
    int saves = 0;
    given.save = [&] { ++saves; };
    client::Interleaver<int, int>::Train train;
    if (trains) train = [] { return true; };
    client::Interleaver<int, int> one(given, train, answer);
    const AtEnd close([&] { one.close(); });
    std::string saver;
    for (int kinds = trains ? 2 : 1; kinds > 0; --kinds) {
      const wire::Hello hello = expect<wire::Hello>();
      send(welcoming());
      EXPECT_EQ(hello.saves, trains == (hello.kind == Kind::train));
      if (hello.saves) saver = identity.to_string();
    }
    client::Workload& workload = trains ? one.trainer() : one.server();
    await([&] { return workload.attached(); }, workload);
    identity.rebuild(saver.data(), saver.size());
    send(wire::CheckpointRequest{3, std::chrono::seconds(30)});
    for (int steps = 0; saves == 0 && steps < 100'000; ++steps) one.step();
    EXPECT_EQ(saves, 1);
    EXPECT_EQ(expect<wire::Saved>().checkpoint, 3u);
  }
}

TEST_F(InterleaverTest, NamesItsKeyForBothKinds) {
  given.key = "/etc/gearshift/drone7.key";
  EXPECT_EQ(client::detail::trainer_of(given).key, given.key);
  EXPECT_EQ(client::detail::server_of(given, false).key, given.key);
}

}  // namespace
}  // namespace gearshift

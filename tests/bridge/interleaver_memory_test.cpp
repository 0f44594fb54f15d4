// The C++ interleaver where a batch of requests does not fit in memory.
#include <gtest/gtest.h>

#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/bridge/interleaver_fixture.h"

namespace gearshift {
namespace {

using client::detail::is_out_of_memory;
using client::detail::size_that_fits;
using std::chrono::seconds;

template <typename Error>
bool out_of_memory(const Error& error) {
  return is_out_of_memory(std::make_exception_ptr(error));
}

TEST(Memory, IsWhatSomeErrorsSayDoesNotSuffice) {
  EXPECT_TRUE(out_of_memory(std::bad_alloc()));
  EXPECT_TRUE(out_of_memory(std::runtime_error("CUDA out of memory. Tried to allocate 2 GiB")));
  EXPECT_TRUE(out_of_memory(std::runtime_error("cuDNN error: CUDNN_STATUS_ALLOC_FAILED")));
  EXPECT_FALSE(out_of_memory(std::runtime_error("device-side assert triggered")));
  EXPECT_FALSE(out_of_memory(7));
}

TEST(Memory, HoldsTheLargestSizeThatWasAnsweredOrTheNextSmaller) {
  const std::vector<std::int32_t> sizes{1, 4, 16, 64};
  EXPECT_EQ(size_that_fits(sizes, 60, 4), 4);
  EXPECT_EQ(size_that_fits(sizes, 60, 20), 16);
  EXPECT_EQ(size_that_fits(sizes, 16, 20), 4) << "it is less than it was";
  EXPECT_EQ(size_that_fits(sizes, 64, 0), 16);
  EXPECT_EQ(size_that_fits(sizes, 1, 1), std::nullopt);
  EXPECT_EQ(size_that_fits({4}, 3, 0), std::nullopt);
}

class InterleaverMemory : public InterleaverTest {
 protected:
  InterleaverMemory() { given.batch_sizes = {1, 4, 16}; }
  std::vector<int> infer(const std::vector<int>& requests) {
    if (requests.size() > most) throw std::runtime_error("CUDA out of memory");
    return requests;
  }
  void attach(client::Interleaver<int, int>& one) {
    for (int i = 0; i < 2; ++i) {
      expect<wire::Hello>();
      send(welcoming());
    }
    await([&] { return one.server().attached(); }, one.server());
    await([&] { return one.trainer().attached(); }, one.trainer());
    one.step();  // training is over, so that the server alone stays
    expect<wire::Bye>();
  }
  void ask_for(client::Interleaver<int, int>& one, std::uint32_t set, std::int32_t batch_size) {
    send(wire::Set{set, batch_size, Run::both});
    for (int tries = 0; one.server().wanted().set != set; ++tries) {
      if (tries == 2000) throw std::runtime_error("it does not follow");
      one.step();
    }
    EXPECT_EQ(expect<wire::Applied>().set, set);
  }
  // Requests, and so many steps after them; how many of the requests were answered.
  static int serve(client::Interleaver<int, int>& one, int requests, int steps) {
    std::vector<std::future<int>> futures;
    for (int i = 0; i < requests; ++i) futures.push_back(one.submit(i));
    for (int i = 0; i < steps; ++i) one.step();
    int answered = 0;
    for (int i = 0; i < requests; ++i) {
      std::future<int>& future = futures[static_cast<std::size_t>(i)];
      if (future.wait_for(seconds(0)) != std::future_status::ready) continue;
      try {
        EXPECT_EQ(future.get(), i);
        ++answered;
      } catch (const std::runtime_error&) {
        continue;
      }
    }
    return answered;
  }

  std::size_t most = 4;  // requests that fit
};

TEST_F(InterleaverMemory, GoesBackToTheSizeThatWorkedAndTellsTheDaemon) {
  client::Interleaver<int, int> one(
      given, [] { return false; }, [&](const auto& requests) { return infer(requests); });
  attach(one);
  EXPECT_EQ(serve(one, 4, 1), 4);
  EXPECT_EQ(expect<wire::Report>().set, 0U);
  ask_for(one, 1, 4);
  ask_for(one, 2, 16);
  EXPECT_EQ(serve(one, 16, 5), 16) << "four batches after the one that failed";
  const wire::Refused refused = expect<wire::Refused>();
  EXPECT_EQ(refused.set, 2U);
  EXPECT_EQ(refused.code.view(), "memory");
  EXPECT_EQ(refused.message.view(),
            "16 requests at once do not fit in memory, 4 are answered at most");
  const wire::Report report = expect<wire::Report>();
  EXPECT_EQ(report.set, 1U);
  EXPECT_EQ(report.batch_size, 4);
  EXPECT_EQ(one.server().wanted().batch_size, 4);

  most = 1;  // another program has taken it
  EXPECT_EQ(serve(one, 4, 5), 4);
  most = 0;
  EXPECT_EQ(serve(one, 1, 1), 0) << "there is nothing smaller";
}

TEST_F(InterleaverMemory, IsNotTakenForTooLittleWhereTheModelFails) {
  client::Interleaver<int, int> one(
      given, [] { return false; },
      [&](const auto& requests) {
        if (requests.size() > most) throw std::runtime_error("device-side assert triggered");
        return requests;
      });
  attach(one);
  EXPECT_EQ(serve(one, 4, 1), 4);
  expect<wire::Report>();
  ask_for(one, 1, 16);
  EXPECT_EQ(serve(one, 16, 2), 0);
  EXPECT_EQ(one.server().wanted().batch_size, 16);
}

}  // namespace
}  // namespace gearshift

// The C++ client in a child that its program forks: silent, and no call waits for what only the
// parent has.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "bridge/client/gearshift_interleaver.hpp"
#include "bridge/client/gearshift_news.hpp"
#include "tests/bridge/client_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// Exit status of a child that does this, or so many hundreds and the signal that ended it.
template <typename Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);  // s
    ::_exit(work());
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(ClientTest, AForkedChildEndsWithoutWaitingForThreadsThatItDoesNotHave) {
  auto workload = std::make_unique<client::Workload>(options());
  welcome(*workload);
  EXPECT_EQ(in_child([&] {
              workload.reset();
              return 0;
            }),
            0);
  EXPECT_TRUE(workload->attached());
  minibatch(*workload);
  EXPECT_EQ(receive<wire::Report>().sequence, 1U);
  workload.reset();
  receive<wire::Bye>();
}

TEST_F(ClientTest, AForkedChildIsSilent) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Set{1, 32, Run::infer});
  await([&] { return workload.poll(); }, workload);
  workload.applied();
  receive<wire::Applied>();
  EXPECT_EQ(in_child([&] {
              minibatch(workload);
              workload.requests({});
              workload.wait(milliseconds(1));
              workload.applied();
              workload.refused("other", "a child's");
              workload.end_turn(workload.take_turn());
              workload.leave();
              const bool nothing = !workload.poll() && !workload.attached() &&
                                   !workload.managed() && workload.dropped_reports() == 0 &&
                                   workload.take_message().empty();
              return nothing && workload.runs() && workload.wanted().batch_size == 16 ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(workload.attached());
  EXPECT_FALSE(workload.runs());
  minibatch(workload);
  EXPECT_EQ(receive<wire::Report>().sequence, 1U) << "nothing came before it";
}

// Its connection knows nothing of the smaller batch, and the same one would fail for ever.
TEST_F(ClientTest, AForkedChildAnswersInSmallerBatchesWhatDoesNotFitInMemory) {
  client::InterleaverOptions given;
  given.name = "lenet";
  given.batch_size = 4;
  given.batch_sizes = {1, 2, 4};
  given.endpoint = endpoint;
  client::Interleaver<int, int> one(given, {}, [](const std::vector<int>& requests) {
    if (requests.size() > 2) throw std::bad_alloc();
    return requests;
  });
  EXPECT_EQ(in_child([&] {
              std::vector<std::future<int>> futures;
              for (int i = 0; i < 8; ++i) futures.push_back(one.submit(i));
              for (int i = 0; i < 5; ++i) one.step();  // the one that fails, and four of two
              for (const auto& future : futures) {
                if (future.wait_for(milliseconds(0)) != std::future_status::ready) return 1;
              }
              return 0;
            }),
            0);
}

// Another thread of the parent's is in run(), and has waited there: in the child it is not.
TEST_F(ClientTest, AForkedChildEndsAnInterleaverThatServes) {
  client::InterleaverOptions given;
  given.name = "lenet";
  given.endpoint = endpoint;
  auto one = std::make_unique<client::Interleaver<int, int>>(
      given, std::function<bool()>(), [](const std::vector<int>& requests) { return requests; });
  std::promise<void> has_waited;
  auto serves = std::async(std::launch::async, [&] {
    one->run([&has_waited, looks = 0]() mutable {
      if (++looks == 2) has_waited.set_value();
      return false;
    });
  });
  has_waited.get_future().wait();
  EXPECT_EQ(in_child([&] {
              one.reset();
              return 0;
            }),
            0);
  one->close();
}

TEST(ClientNews, OfAForkedChildIsNotForThreadsOfItsParent) {
  auto news = std::make_unique<client::detail::News>();
  std::mutex mutex;
  std::promise<void> has_the_lock;
  bool over = false;
  auto waits = std::async(std::launch::async, [&] {
    std::unique_lock<std::mutex> lock(mutex);
    has_the_lock.set_value();
    while (!over) news->wait_for(lock, std::chrono::seconds(10));
  });
  has_the_lock.get_future().wait();
  std::unique_lock<std::mutex> lock(mutex);  // so it waits for news
  EXPECT_EQ(in_child([&] {
              for (int i = 0; i < 5; ++i) news->notify_one();
              news->wait_for(lock, milliseconds(1));
              news.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              news.reset();
              return 0;
            }),
            0);
  over = true;
  news->notify_one();
}

}  // namespace
}  // namespace gearshift

// What a C++ client sends at most, takes at most, and puts up with.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/bridge/client_fixture.h"
#include "tests/fakes/says.h"

namespace gearshift {
namespace {

using client::Options;
using fakes::says;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST_F(ClientTest, ReportsNoMoreMinibatchesThanADaemonTakes) {
  client::Workload workload(options());
  welcome(workload);
  constexpr std::uint64_t kMany = 2000;
  for (std::uint64_t i = 0; i < kMany; ++i) minibatch(workload);
  EXPECT_GT(workload.dropped_reports(), 0u);
  EXPECT_LT(workload.dropped_reports(), kMany);
  send(wire::Set{1, 32, Run::both});
  await([&] { return workload.poll(); }, workload);
  workload.applied();
  std::uint64_t reports = 0;
  bool applied = false;
  while (!applied) {
    zmq::message_t frame;
    wire::ClientMessage message;
    ASSERT_TRUE(daemon.recv(identity) && daemon.recv(frame));
    ASSERT_FALSE(wire::decode(frame.to_string_view(), message));
    reports += std::holds_alternative<wire::Report>(message) ? 1 : 0;
    applied = std::holds_alternative<wire::Applied>(message);
  }
  EXPECT_EQ(reports, kMany - workload.dropped_reports());
}

// A socket that has room for so many messages.
struct Room {
  bool send(const char* data, std::size_t size) {
    if (room == 0) return false;
    --room;
    sent.emplace_back(data, size);
    return true;
  }
  int room = 0;
  std::vector<std::string> sent;
};

// A daemon that reads nothing for a second leaves none, and would wait for a minute.
TEST(ClientAnswers, AreSentInTheirOrderOnceThereIsRoom) {
  client::detail::Answers answers;
  Room socket;
  std::vector<std::string> all;
  for (const char* type : {"applied", "refused", "saved"}) {
    client::detail::Frame frame;
    frame.begin(type, 0);
    all.emplace_back(frame.data(), frame.size());
    answers.add(frame);
    EXPECT_FALSE(answers.send(socket));
  }
  socket.room = 2;
  EXPECT_TRUE(answers.send(socket));
  EXPECT_EQ(socket.sent.size(), 2U);
  socket.room = 5;
  EXPECT_TRUE(answers.send(socket));
  EXPECT_FALSE(answers.send(socket));
  EXPECT_EQ(socket.sent, all);
  answers.add(client::detail::Frame());
  answers.forget();
  EXPECT_FALSE(answers.send(socket)) << "the daemon that waited for it is gone";
}

TEST(ReportBudget, IsFifteenHundredASecondAfterABurst) {
  client::detail::ReportBudget budget;
  std::chrono::nanoseconds now = seconds(5);
  int taken = 0;
  for (int i = 0; i < 1000; ++i) taken += budget.take(now) ? 1 : 0;
  EXPECT_EQ(taken, 257);
  for (int i = 0; i < 100'000; ++i) taken += budget.take(now += std::chrono::microseconds(100));
  EXPECT_NEAR(taken, 257 + 15'000, 2);
}

TEST_F(ClientTest, TakesNoMessageThatIsTooLong) {
  client::Workload workload(options());
  receive<wire::Hello>();
  const std::string before = identity.to_string();
  wire::Welcome message;
  message.workload = 1;
  message.heartbeat = seconds(1);
  message.silent_after = seconds(1);
  send(message);
  await([&] { return workload.attached(); }, workload);
  send_bytes(std::string(1'000'000, '\x91'));
  receive<wire::Hello>();
  EXPECT_NE(identity.to_string(), before) << "the connection ended, and it made another";
}

TEST(Client, GoesOnWhereTheEnvironmentNamesWhatCannotBeUsed) {
  const fakes::TempTree tree;
  Options options;
  options.name = "lenet";
  {
    const Variable endpoint("GEARSHIFT_ENDPOINT", "nowhere");
    client::Workload workload(options);
    EXPECT_NE(workload.take_message().find("nowhere"), std::string::npos);
    EXPECT_EQ(workload.take_message(), "");
    workload.minibatch(0, milliseconds(5), {}, {});
    EXPECT_FALSE(workload.attached());
  }
  const Variable key("GEARSHIFT_KEY", tree.at("/no.key").string());
  options.endpoint = "tcp://127.0.0.1:9";
  client::Workload workload(options);
  EXPECT_NE(workload.take_message().find("no.key"), std::string::npos);
  options.key = tree.at("/given.key").string();
  EXPECT_THROW(client::Workload{options}, std::invalid_argument);
}

TEST(Client, NamesTheOptionItsValueAndAWayOut) {
  const auto said = [](Options options) -> std::string {
    try {
      client::Workload{std::move(options)};
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return {};
  };
  Options options{"a", client::Kind::train, 4, {16, 8}, 0, "ipc:///nonexistent/x"};
  EXPECT_TRUE(says(said(options), "batch_sizes [16, 8]: give at most 32")) << said(options);
  options.batch_sizes = {8, 16};
  EXPECT_EQ(said(options), "batch_size 4: it must be one of batch_sizes [8, 16]");
  options.batch_size = 0;
  EXPECT_EQ(said(options), "batch_size 0: give 1 to 1048576");
  options.batch_size = 4;
  options.batch_sizes = {};
  options.endpoint = "foo";
  EXPECT_EQ(said(options),
            "endpoint foo: Invalid argument; give one like ipc:///path or leave it out");
}

TEST_F(ClientTest, WaitsForNoTimeBelowNone) {
  client::Workload workload(options());
  welcome(workload);
  workload.wait(milliseconds(-1));  // and comes back
}

// The blocked signals of each thread of this process.
std::map<std::string, std::uint64_t> blocked_signals() {
  std::map<std::string, std::uint64_t> blocked;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("SigBlk:", 0) != 0) continue;
      blocked[task.path().filename()] = std::stoull(line.substr(7), nullptr, 16);
    }
  }
  return blocked;
}

// Else it would end a program that reads SIGTERM from a signalfd.
TEST_F(ClientTest, LeavesSignalsToTheProgram) {
  const auto before = blocked_signals();
  const std::string own = std::to_string(::getpid());  // of the main thread, which this is
  client::Workload workload(options());
  const auto blocks = [](std::uint64_t mask) {
    return (mask >> (SIGTERM - 1) & 1U) != 0 && (mask >> (SIGUSR1 - 1) & 1U) != 0;
  };
  // Those of libzmq block them once they run.
  const auto all_block = [&] {
    int threads = 0;
    for (const auto& [task, mask] : blocked_signals()) {
      if (before.count(task) != 0) continue;
      if (!blocks(mask)) return false;
      ++threads;
    }
    return threads > 0;
  };
  await(all_block, workload);
  EXPECT_EQ(blocked_signals()[own], before.at(own));
}

TEST(Client, AnswersForASaveThatThrowsAnything) {
  for (const std::function<void()>& save : {std::function<void()>([] { throw 3; }),
                                            std::function<void()>([] { throw std::string(); })}) {
    wire::ClientMessage message;
    const client::detail::Frame frame = client::detail::save(7, save);
    const std::string_view bytes(frame.data(), frame.size());
    ASSERT_FALSE(wire::decode(bytes, message));
    ASSERT_TRUE(std::holds_alternative<wire::Unsaved>(message));
    EXPECT_EQ(std::get<wire::Unsaved>(message).message.view(), "it threw");
  }
}

// Nobody has asked for it, so that there is nothing to refuse.
TEST_F(ClientTest, OffersLessWhereItsOwnBatchSizeDoesNotFitInMemory) {
  client::Options given = options();
  given.batch_size = 32;
  client::Workload workload(given);
  welcome(workload);
  workload.out_of_memory(16, "32 samples do not fit");
  const wire::Hello hello = receive<wire::Hello>();
  EXPECT_EQ(hello.batch_size, 16);
  ASSERT_EQ(hello.batch_size_count, 2);
  EXPECT_EQ(hello.batch_sizes[1], 16);
  send(welcoming());
  await([&] { return workload.attached(); }, workload);
  minibatch(workload);
  const wire::Report report = receive<wire::Report>();
  EXPECT_EQ(report.set, 0u);
  EXPECT_EQ(report.batch_size, 16);
}

// With a size that no daemon takes each later hello would fail.
TEST_F(ClientTest, TellsOfASizeToGoBackToThatIsNotOfferedOrNotSmaller) {
  client::Workload workload(options());
  welcome(workload);
  workload.out_of_memory(12, "16 samples do not fit");
  EXPECT_EQ(workload.take_message(),
            "out_of_memory(12): give a smaller one of the batch sizes offered, [8, 16, 32]");
  workload.out_of_memory(32, "16 samples do not fit");
  EXPECT_EQ(workload.take_message(),
            "out_of_memory(32): give a smaller one of the batch sizes offered, [8, 16, 32]");
  minibatch(workload);
  EXPECT_EQ(receive<wire::Report>().batch_size, 16) << "and it did not attach anew";
}

TEST_F(ClientTest, RefusesASizeThatWasAppliedAndDoesNotFitInMemory) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Set{1, 32, Run::both});
  await([&] { return workload.poll(); }, workload);
  workload.applied();
  EXPECT_EQ(receive<wire::Applied>().set, 1u);
  workload.out_of_memory(16, "32 samples do not fit");
  EXPECT_EQ(receive<wire::Refused>().code.view(), "memory");
  EXPECT_TRUE(workload.attached());
}

}  // namespace
}  // namespace gearshift

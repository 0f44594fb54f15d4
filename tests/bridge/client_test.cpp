// The C++ client against a daemon that the test plays on a bare socket.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "tests/bridge/client_fixture.h"

namespace gearshift {
namespace {

using client::Options;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST_F(ClientTest, SaysHello) {
  const client::Workload workload(options());
  const wire::Hello hello = receive<wire::Hello>();
  EXPECT_EQ(hello.name.view(), "lenet");
  EXPECT_EQ(hello.kind, Kind::train);
  EXPECT_EQ(hello.pid, ::getpid());
  EXPECT_EQ(hello.batch_size, 16);
  EXPECT_EQ(hello.batch_size_count, 3);
  EXPECT_EQ(hello.batch_sizes[2], 32);
  EXPECT_EQ(hello.samples_per_epoch, 1437);
}

TEST_F(ClientTest, TellsOfItsRequests) {
  Options server = options();
  server.kind = client::Kind::infer;
  server.latency = milliseconds(100);
  client::Workload workload(server);
  client::RequestCounts counts;
  workload.requests(counts);
  const wire::Hello hello = receive<wire::Hello>();
  EXPECT_EQ(hello.latency, milliseconds(100));
  send(welcoming(false));
  await([&] { return workload.attached(); }, workload);
  counts = {
      milliseconds(500),    31, 30, 4, 3, 2, milliseconds(1), milliseconds(2), milliseconds(3),
      std::chrono::hours(2)};
  workload.requests(counts);
  const wire::Requests got = receive<wire::Requests>();
  EXPECT_EQ(got.sequence, 2u);  // the first went nowhere
  EXPECT_EQ(got.set, 0u);
  EXPECT_EQ(got.span, milliseconds(500));
  EXPECT_EQ(got.arrived, 31u);
  EXPECT_EQ(got.served, 30u);
  EXPECT_EQ(got.late, 4u);
  EXPECT_EQ(got.refused, 3u);
  EXPECT_EQ(got.queued, 2u);
  EXPECT_EQ(got.latency_p50, milliseconds(1));
  EXPECT_EQ(got.latency_p95, milliseconds(2));
  EXPECT_EQ(got.latency_p99, milliseconds(3));
  EXPECT_EQ(got.latency_max, std::chrono::hours(1));  // more would be a fault
}

// A laptop's lid, a debugger, a clock that did not move.
TEST_F(ClientTest, ReportsNoTimeThatWasNone) {
  client::Workload workload(options());
  welcome(workload);
  workload.minibatch(0, std::chrono::hours(10), {}, {});
  workload.minibatch(1, std::chrono::hours(1) + nanoseconds(1), {}, {});
  workload.minibatch(2, std::chrono::hours(1), {}, {});
  workload.minibatch(3, nanoseconds(0), {}, {});
  workload.minibatch(4, nanoseconds(-5), nanoseconds(-5), nanoseconds(-5));
  const nanoseconds expected[] = {std::chrono::hours(1), nanoseconds(1), nanoseconds(1)};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const wire::Report report = receive<wire::Report>();
    EXPECT_EQ(report.epoch, i + 2);
    EXPECT_EQ(report.elapsed, expected[i]) << i;
  }
}

TEST_F(ClientTest, ReportsOnlyOnceItIsWelcome) {
  client::Workload workload(options());
  minibatch(workload);
  EXPECT_FALSE(workload.attached());
  welcome(workload);
  EXPECT_TRUE(workload.managed());
  minibatch(workload);
  const wire::Report report = receive<wire::Report>();
  EXPECT_EQ(report.sequence, 2u);  // the first went nowhere
  EXPECT_EQ(report.set, 0u);
  EXPECT_EQ(report.epoch, 2u);
  EXPECT_EQ(report.batch_size, 16);
  EXPECT_EQ(report.elapsed, milliseconds(5));
  EXPECT_EQ(report.fetch_stall, milliseconds(1));
  EXPECT_EQ(report.compute, milliseconds(4));
}

TEST_F(ClientTest, AppliesWhatTheDaemonWants) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Set{5, 32, Run::both});
  await([&] { return workload.poll(); }, workload);
  EXPECT_EQ(workload.wanted().batch_size, 32);
  minibatch(workload);  // one of the old size was still under way
  EXPECT_EQ(receive<wire::Report>().batch_size, 16);
  workload.applied();
  const wire::Applied applied = receive<wire::Applied>();
  EXPECT_EQ(applied.set, 5u);
  EXPECT_EQ(applied.batch_size, 32);
  EXPECT_EQ(applied.run, Run::both);
  minibatch(workload);
  const wire::Report report = receive<wire::Report>();
  EXPECT_EQ(report.set, 5u);
  EXPECT_EQ(report.batch_size, 32);
  EXPECT_FALSE(workload.poll());  // told once
}

TEST_F(ClientTest, RefusesWhatItCannotDo) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Set{1, 64, Run::both});  // never offered: refused by itself
  EXPECT_EQ(receive<wire::Refused>().code.view(), "batch_size");
  send(wire::Set{2, 32, Run::both});
  await([&] { return workload.poll(); }, workload);
  workload.refused("memory", "no room");
  const wire::Refused refused = receive<wire::Refused>();
  EXPECT_EQ(refused.set, 2u);
  EXPECT_EQ(refused.message.view(), "no room");
  EXPECT_EQ(workload.wanted().batch_size, 16);
}

TEST_F(ClientTest, CutsItsWordsToWhatADaemonTakes) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Set{1, 32, Run::both});
  await([&] { return workload.poll(); }, workload);
  workload.refused(std::string(100, 'c'), "a\nb\xff\x7f" + std::string(249, 'm') + "\u00e9" + "z");
  const wire::Refused refused = receive<wire::Refused>();
  EXPECT_EQ(refused.code.view(), std::string(64, 'c'));
  EXPECT_EQ(refused.message.view(), "a b  " + std::string(249, 'm') + "\u00e9");
  EXPECT_EQ(client::detail::cut("\u00e9\u00e9", 3), "\u00e9");
}

TEST_F(ClientTest, WaitsWhileTheOtherKindRunsAndGoesOnWithoutADaemon) {
  client::Workload workload(options());
  welcome(workload);
  EXPECT_TRUE(workload.runs());
  send(wire::Set{1, 16, Run::infer});
  await([&] { return workload.poll(); }, workload);
  EXPECT_FALSE(workload.runs());
  workload.applied();
  EXPECT_EQ(receive<wire::Applied>().run, Run::infer);
  send(wire::Bye{});
  await([&] { return workload.poll(); }, workload);
  EXPECT_TRUE(workload.runs());
  EXPECT_FALSE(workload.attached());
  workload.applied();  // of nobody's wish: not sent
}

TEST_F(ClientTest, SaysHelloAgainToADaemonThatDoesNotKnowIt) {
  client::Workload workload(options());
  welcome(workload);
  send(wire::Set{7, 32, Run::both});
  await([&] { return workload.poll(); }, workload);
  workload.applied();
  receive<wire::Applied>();
  send(wire::Error{wire::Text("unknown_client"), wire::MessageText("say hello first")});
  const wire::Hello hello = receive<wire::Hello>();
  EXPECT_EQ(hello.batch_size, 32);  // what is in use now
  send(welcoming(false));
  await([&] { return workload.attached(); }, workload);
  minibatch(workload);
  EXPECT_EQ(receive<wire::Report>().set, 0u);
}

TEST_F(ClientTest, SavesItsWorkWhenItIsAsked) {
  int saves = 0;
  bool fails = false;
  Options saving = options();
  saving.save = [&] {
    ++saves;
    if (fails) throw std::runtime_error("disk full");
  };
  client::Workload workload(saving);
  EXPECT_TRUE(receive<wire::Hello>().saves);
  send(welcoming());
  await([&] { return workload.attached(); }, workload);
  send(wire::CheckpointRequest{3, seconds(30)});
  await([&] { return workload.poll() || saves == 1; }, workload);
  EXPECT_EQ(receive<wire::Saved>().checkpoint, 3u);
  fails = true;
  send(wire::CheckpointRequest{4, seconds(30)});
  await([&] { return workload.poll() || saves == 2; }, workload);
  const wire::Unsaved unsaved = receive<wire::Unsaved>();
  EXPECT_EQ(unsaved.checkpoint, 4u);
  EXPECT_EQ(unsaved.message.view(), "disk full");
}

TEST_F(ClientTest, TellsWhyItIsOnlyObserved) {
  client::Workload workload(options());
  welcome(workload, false);
  EXPECT_FALSE(workload.managed());
  EXPECT_EQ(workload.take_message(), "only observed");
  EXPECT_EQ(workload.take_message(), "");
}

TEST_F(ClientTest, TellsWhyItWasRefused) {
  client::Workload workload(options());
  receive<wire::Hello>();
  send(wire::Error{wire::Text("version"), wire::MessageText("version 1 is not spoken here")});
  std::string message;
  await([&] { return !(message = workload.take_message()).empty(); }, workload);
  EXPECT_EQ(message, "version: version 1 is not spoken here");
  EXPECT_FALSE(workload.attached());
}

TEST_F(ClientTest, IgnoresBytesThatAreNoMessage) {
  client::Workload workload(options());
  welcome(workload);
  using std::string_literals::operator""s;
  for (const std::string& frame :
       {""s, "x"s, "\xc1"s, "\xdf\xff\xff\xff\xff"s, "\x81\xa4type\xdb\xff\xff\xff\xff"s,
        std::string(4096, '\x91'), frames::Map("launch").frame(),
        frames::Map("set").with("set", -1).with("batch_size", 3.5).with("run", 4).frame()}) {
    send_bytes(frame);
  }
  send(wire::Set{1, 32, Run::both});
  await([&] { return workload.poll(); }, workload);
  EXPECT_EQ(workload.wanted().batch_size, 32);
}

TEST_F(ClientTest, SaysByeWhenItEnds) {
  {
    client::Workload workload(options());
    welcome(workload);
  }
  receive<wire::Bye>();
}

TEST(Client, NeedsNoDaemon) {
  const fakes::TempTree tree;
  client::Workload workload(
      {"lenet", client::Kind::infer, 1, {}, 0, "ipc://" + tree.at("/nobody.ipc").string()});
  for (int i = 0; i < 1000; ++i)
    workload.minibatch(0, milliseconds(5), nanoseconds(0), nanoseconds(0));
  EXPECT_FALSE(workload.poll());
  EXPECT_FALSE(workload.attached());
  EXPECT_TRUE(workload.runs());
  EXPECT_EQ(workload.wanted().batch_size, 1);
}

TEST(Client, RefusesOptionsThatNoDaemonWouldTake) {
  const auto make = [](std::string name, std::int32_t batch_size, std::vector<std::int32_t> sizes) {
    client::Workload({std::move(name), client::Kind::train, batch_size, std::move(sizes), 0,
                      "ipc:///nonexistent/x"});
  };
  EXPECT_NO_THROW(make(std::string(64, 'a'), 8, {8, 16}));
  EXPECT_THROW(make("", 8, {8}), std::invalid_argument);
  EXPECT_THROW(make(std::string(65, 'a'), 8, {8}), std::invalid_argument);
  EXPECT_THROW(make("a\nb", 8, {8}), std::invalid_argument);
  EXPECT_THROW(make("\xff", 8, {8}), std::invalid_argument);
  EXPECT_THROW(make("a", 9, {8, 16}), std::invalid_argument);
  EXPECT_THROW(make("a", 8, {16, 8}), std::invalid_argument);
  EXPECT_THROW(make("a", 8, {8, 8}), std::invalid_argument);
  EXPECT_THROW(make("a", 0, {0, 8}), std::invalid_argument);
  EXPECT_THROW(client::Workload({"a", client::Kind::train, 8, {8}, 0, "nowhere"}),
               std::invalid_argument);
  const auto within = [](nanoseconds latency) {
    client::Workload({"a", client::Kind::infer, 8, {8}, 0, "ipc:///nonexistent/x", latency});
  };
  EXPECT_NO_THROW(within(std::chrono::hours(1)));
  EXPECT_THROW(within(std::chrono::hours(1) + nanoseconds(1)), std::invalid_argument);
  EXPECT_THROW(within(nanoseconds(-1)), std::invalid_argument);
  for (const std::int64_t samples : {std::int64_t{-1}, std::int64_t{1'000'000'000'001}}) {
    EXPECT_THROW(
        client::Workload({"a", client::Kind::train, 8, {8}, samples, "ipc:///nonexistent/x"}),
        std::invalid_argument);
  }
}

TEST(Client, SaysHelloSoonAfterTooMany) {
  EXPECT_EQ(client::detail::hello_pause("too_many", 0), seconds(1));
  EXPECT_EQ(client::detail::hello_pause("too_many", 2'000'000'000), seconds(3));
  EXPECT_EQ(client::detail::hello_pause("version", 0), seconds(10));
}

}  // namespace
}  // namespace gearshift

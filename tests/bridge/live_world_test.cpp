// The live world with real sockets, signals and files, and a clock that tests move.
#include "bridge/live_world.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <zmq.hpp>

#include "bridge/key_files.h"
#include "bridge/protocol.h"
#include "bridge/signal_watch.h"
#include "tests/bridge/frames.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fakes/temp_tree.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

using frames::packed;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kWorldGivesUpMs = 20'000;  // generous: only a failure waits for it

int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(probe, name, size) == 0 && ::getsockname(probe, name, &size) == 0;
  ::close(probe);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

class LiveWorldTest : public testing::Test {
 protected:
  LiveWorldTest() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &old_mask_);
    tree.put("/policy.lua", "return 1");
    options.workload_endpoint = "ipc://" + tree.at("/workloads.ipc").string();
    options.control_endpoint = "ipc://" + tree.at("/control.ipc").string();
    options.script = tree.at("/policy.lua");
    options.allowed_user = ::geteuid();
  }
  ~LiveWorldTest() override { pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr); }

  zmq::socket_t connect(const std::string& endpoint) {
    zmq::socket_t socket(context, zmq::socket_type::dealer);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::rcvtimeo, kWorldGivesUpMs);
    socket.connect(endpoint);
    return socket;
  }
  template <typename Message>
  static void send(zmq::socket_t& socket, const Message& message) {
    const std::string frame = packed(message);
    socket.send(zmq::const_buffer(frame.data(), frame.size()), zmq::send_flags::none);
  }
  template <typename Message>
  static Message receive(zmq::socket_t& socket) {
    zmq::message_t frame;
    wire::DaemonMessage message;
    if (!socket.recv(frame)) throw std::runtime_error("nothing was received");
    if (wire::decode(frame.to_string_view(), message)) throw std::runtime_error("not a message");
    return std::get<Message>(message);
  }
  // The events of one wait that only an urgent event, a wake or a signal ends.
  EventBuffer wait(LiveWorld& world) {
    EventBuffer events;
    world.wait_until(clock.time + std::chrono::hours(1), events);
    return events;
  }
  // The events of one tick whose deadline has come.
  EventBuffer look(LiveWorld& world) {
    EventBuffer events;
    world.wait_until(clock.time, events);
    return events;
  }

  const fakes::TempTree tree;
  fakes::ManualClock clock;
  LiveWorldOptions options;
  zmq::context_t context{1};

 private:
  sigset_t old_mask_;
};

TEST_F(LiveWorldTest, ReturnsAtTheDeadline) {
  LiveWorld world(clock, options);
  EventBuffer events;
  EXPECT_EQ(world.wait_until(clock.time, events), clock.time);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(world.wait_until(clock.time - seconds(1), events), clock.time);
}

TEST_F(LiveWorldTest, DoesNotReturnBeforeTheDeadline) {
  const fakes::TickingClock ticking;
  LiveWorld world(ticking, options);
  EventBuffer events;
  const Time deadline = ticking.time + milliseconds(6);
  EXPECT_GE(world.wait_until(deadline, events), deadline);
}

TEST_F(LiveWorldTest, CollectsReportsUntilSomethingUrgent) {
  LiveWorld world(clock, options);
  zmq::socket_t client = connect(options.workload_endpoint);
  send(client, frames::hello());
  EventBuffer events = wait(world);
  ASSERT_EQ(events.size(), 1u);
  ASSERT_EQ(events[0].type, EventType::attached);
  EXPECT_EQ(receive<wire::Welcome>(client).workload, events[0].handle);
  world.command(events[0].handle, {1, 32, Run::both});
  EXPECT_EQ(receive<wire::Set>(client).batch_size, 32);
  send(client, frames::report(1));
  send(client, frames::report(2));
  send(client, wire::Applied{1, 32, Run::both});
  events = wait(world);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].type, EventType::minibatch);
  EXPECT_EQ(events[0].minibatch.received, clock.time);
  EXPECT_EQ(events[1].minibatch.sequence, 2u);
  EXPECT_EQ(events[2].type, EventType::applied);
}

TEST_F(LiveWorldTest, TakesAtMost256MessagesATick) {
  const fakes::TickingClock ticking;
  LiveWorld world(ticking, options);
  zmq::socket_t client = connect(options.workload_endpoint);
  send(client, frames::hello());
  EventBuffer events;
  world.wait_until(ticking.time + std::chrono::hours(1), events);
  ASSERT_EQ(events.size(), 1u);
  world.command(events[0].handle, {1, 32, Run::both});
  constexpr std::size_t kReports = 3 * kMaxEventsPerTick;
  for (std::size_t i = 1; i <= kReports; ++i) send(client, frames::report(i));
  send(client, wire::Applied{1, 32, Run::both});
  std::size_t reports = 0;
  for (bool applied = false; !applied;) {
    events.clear();
    world.wait_until(ticking.time + milliseconds(5), events);
    EXPECT_LE(events.size(), kMaxEventsPerTick);
    for (const Event& event : events) {
      reports += event.type == EventType::minibatch ? 1 : 0;
      applied |= event.type == EventType::applied;
    }
  }
  EXPECT_EQ(reports, kReports);
}

TEST_F(LiveWorldTest, AppendsToTheEventsItIsGiven) {
  LiveWorld world(clock, options);
  EventBuffer events(1);
  events[0].type = EventType::stop;  // an urgent one of before must not end the wait
  world.wait_until(clock.time, events);
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(LiveWorldTest, WakesForAReading) {
  const int wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  options.wake_descriptors = {wake};
  {
    LiveWorld world(clock, options);
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(wake, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    EXPECT_TRUE(wait(world).empty());
    std::uint64_t count = 0;
    EXPECT_EQ(::read(wake, &count, sizeof count), -1);  // taken
  }
  ::close(wake);
}

TEST_F(LiveWorldTest, WakesForWhatAnotherReadsAndLeavesItThere) {
  const int watched = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  const int silent = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  options.wake_descriptors = {silent};
  options.watched_descriptors = {watched};
  {
    LiveWorld world(clock, options);
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(watched, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    EXPECT_TRUE(wait(world).empty());
    std::uint64_t count = 0;
    EXPECT_EQ(::read(watched, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  }
  ::close(watched);
  ::close(silent);
}

TEST_F(LiveWorldTest, TurnsSignalsIntoEvents) {
  for (const int signal : {SIGINT, SIGTERM}) {
    SignalWatch signals;
    options.signals = &signals;
    LiveWorld world(clock, options);
    ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
    EventBuffer events = wait(world);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].type, EventType::script_changed);
    ASSERT_EQ(::kill(::getpid(), signal), 0);
    events = wait(world);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].type, EventType::stop);
    EXPECT_EQ(events[0].signal, signal);
    EXPECT_EQ(events[0].text.view(), signal == SIGINT ? "SIGINT" : "SIGTERM");
  }
}

TEST_F(LiveWorldTest, NoticesAnEditedScript) {
  LiveWorld world(clock, options);
  EXPECT_EQ(world.script(), "return 1");
  tree.put("/policy.lua", "return 2");
  const EventBuffer events = wait(world);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::script_changed);
  EXPECT_EQ(world.script(), "return 2");
  tree.put("/policy.lua", "return 2");
  EXPECT_TRUE(look(world).empty());
}

TEST_F(LiveWorldTest, RunsWithoutAScript) {
  options.script.clear();
  SignalWatch signals;
  options.signals = &signals;
  LiveWorld world(clock, options);
  EXPECT_EQ(world.script(), "");
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  EXPECT_TRUE(look(world).empty());
  ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
  EXPECT_EQ(wait(world).size(), 1u);
}

TEST_F(LiveWorldTest, DetachesTheSilentInItsOwnTime) {
  LiveWorld world(clock, options);
  zmq::socket_t client = connect(options.workload_endpoint);
  send(client, frames::hello());
  ASSERT_EQ(wait(world).size(), 1u);
  receive<wire::Welcome>(client);
  clock.time += seconds(1);
  EXPECT_TRUE(look(world).empty());
  receive<wire::Heartbeat>(client);
  clock.time += seconds(4);
  const EventBuffer events = look(world);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, EventType::detached);
}

TEST_F(LiveWorldTest, CountsWhatItDrops) {
  LiveWorld world(clock, options);
  zmq::socket_t client = connect(options.workload_endpoint);
  send(client, frames::hello());
  wait(world);
  receive<wire::Welcome>(client);
  client.send(zmq::str_buffer("no message"), zmq::send_flags::none);
  send(client, frames::report(1));
  send(client, frames::report(1));
  send(client, frames::hello());  // urgent
  const EventBuffer events = wait(world);
  EXPECT_EQ(world.dropped_reports(), 2u);
  EXPECT_EQ(events.at(0).type, EventType::minibatch);
}

// Each tick is worth a recording's line, and what it costs is the guard's time.
TEST_F(LiveWorldTest, RequestsWithoutARightEndNoWait) {
  const KeyPair server = make_key_pair();
  const KeyPair pair = make_key_pair();
  options.keys = tree.at("/keys");
  const KeyFolder folder(options.keys);
  folder.make();
  write_key_file(folder.server_path(), {"", server, ""});
  ClientTable clients;
  clients.put({"drone7", pair.public_key, {Right::report}});
  folder.write_clients(clients);
  options.control_endpoint = "tcp://127.0.0.1:" + std::to_string(free_port());
  LiveWorld world(clock, options);
  int answers = 0;
  std::thread others([&] {
    zmq::socket_t flood(context, zmq::socket_type::dealer);
    flood.set(zmq::sockopt::linger, 0);
    flood.set(zmq::sockopt::rcvtimeo, kWorldGivesUpMs);
    flood.set(zmq::sockopt::curve_serverkey, server.public_key);
    flood.set(zmq::sockopt::curve_publickey, pair.public_key);
    flood.set(zmq::sockopt::curve_secretkey, pair.secret_key);
    flood.connect(options.control_endpoint);
    for (int i = 0; i < 1000; ++i) send(flood, wire::StatusRequest{});
    zmq::message_t answer;
    while (answers < 16 && flood.recv(answer)) ++answers;
    zmq::socket_t trainer = connect(options.workload_endpoint);
    send(trainer, frames::hello());
    receive<wire::Welcome>(trainer);
  });
  EXPECT_EQ(wait(world).size(), 1u) << "the trainer's hello";
  look(world);
  others.join();
  EXPECT_EQ(answers, 16);
}

TEST_F(LiveWorldTest, SaysByeAndTakesItsSocketsAway) {
  zmq::socket_t client = connect(options.workload_endpoint);
  {
    LiveWorld world(clock, options);
    send(client, frames::hello());
    ASSERT_EQ(wait(world).size(), 1u);
    receive<wire::Welcome>(client);
  }
  receive<wire::Bye>(client);
  EXPECT_FALSE(std::filesystem::exists(tree.at("/workloads.ipc")));
  EXPECT_FALSE(std::filesystem::exists(tree.at("/control.ipc")));
}

TEST_F(LiveWorldTest, TellsWhichEndpointsCannotBeReachedAnyMore) {
  LiveWorld world(clock, options);
  EXPECT_EQ(world.take_complaint(), "");
  std::filesystem::remove(tree.at("/control.ipc"));
  std::filesystem::remove(tree.at("/workloads.ipc"));
  clock.time += std::chrono::minutes(1);
  EXPECT_NE(world.take_complaint().find(options.control_endpoint), std::string::npos);
  EXPECT_NE(world.take_complaint().find(options.workload_endpoint), std::string::npos);
  EXPECT_EQ(world.take_complaint(), "");
}

TEST_F(LiveWorldTest, TellsThatEditsOfTheScriptAreNotSeen) {
  tree.put("/now/policy.lua", "return 1");
  options.script = tree.at("/now/policy.lua");
  LiveWorld world(clock, options);
  std::filesystem::rename(tree.at("/now"), tree.at("/old"));
  look(world);
  EXPECT_NE(world.take_complaint().find("SIGHUP"), std::string::npos);
  EXPECT_EQ(world.take_complaint(), "");
}

TEST_F(LiveWorldTest, RefusesASecondDaemonAtItsEndpoints) {
  LiveWorld world(clock, options);
  EXPECT_THROW(LiveWorld(clock, options), std::runtime_error);
  LiveWorldOptions other = options;
  other.workload_endpoint = "ipc://" + tree.at("/other.ipc").string();
  EXPECT_THROW(LiveWorld(clock, other), std::runtime_error);
}

}  // namespace
}  // namespace gearshift
